// What decides about derivatives while a function runs. The derivatives themselves are taken in src/autograd.
#include <lento/differentiation.h>

#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/gradient.calls.gen.h"
#include "tensor/state.h"
#include "tensor/watch.h"

namespace lento {

using composite::with_own_identity;

Tensor stop_gradient(const Tensor& x, std::source_location site) {
  const CallScope scope("stop_gradient", site);
  (void)state_of(x);  // an empty handle is an error here too
  if (current_watcher == nullptr) return x;
  const Concealed concealed({&x, 1});
  return with_own_identity(x);
}

bool is_differentiated(const Tensor& x) {
  const TensorState& state = state_of(x);
  bool any = false;
  tell_watchers([&](const Watcher& watcher) { any |= watcher.follows_value(state); });
  return any;
}

std::vector<Tensor> custom_gradient(const TensorFunction& function, const BackwardFunction& backward,
                                    const std::vector<Tensor>& inputs, std::source_location site) {
  {
    const CallScope scope("custom_gradient", site);
    if (!function || !backward) fail<ValueError>("a function is empty");
    for (const Tensor& x : inputs) (void)state_of(x);
  }
  if (current_watcher == nullptr) return function(inputs);
  const Source& known = call_context().source;
  CustomCall call{
      inputs, {}, std::make_shared<const BackwardFunction>(backward), known.known() ? known : Source::from(site)};
  {
    const Concealed concealed(inputs);
    for (const Tensor& output : function(inputs)) call.outputs.push_back(with_own_identity(output));
  }
  tell_watchers([&](Watcher& watcher) { watcher.called(call); });
  return call.outputs;
}

}  // namespace lento

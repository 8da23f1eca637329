// What decides about derivatives while a function runs. The derivatives themselves are taken in src/autograd.
#include <lento/autograd.h>

#include "base/fail.h"
#include "ops/compose.h"
#include "ops/gradient.calls.gen.h"
#include "tensor/state.h"
#include "tensor/watch.h"

namespace lento {

using composite::renamed;

Tensor stop_gradient(const Tensor& x) {
  (void)state_of(x);  // an empty handle is an error here too
  if (current_watcher == nullptr) return x;
  const Concealed concealed({&x, 1});
  return renamed(x);
}

bool is_differentiated(const Tensor& x) {
  const TensorState& state = state_of(x);
  bool any = false;
  tell_watchers([&](const Watcher& watcher) { any |= watcher.follows_value(state); });
  return any;
}

std::vector<Tensor> custom_gradient(const TensorFunction& function, const BackwardFunction& backward,
                                    const std::vector<Tensor>& inputs) {
  if (!function || !backward) fail<ValueError>("custom_gradient: a function is empty");
  for (const Tensor& x : inputs) (void)state_of(x);
  if (current_watcher == nullptr) return function(inputs);
  CustomCall call{inputs, {}, std::make_shared<const BackwardFunction>(backward), call_context().source};
  {
    const Concealed concealed(inputs);
    for (const Tensor& output : function(inputs)) call.outputs.push_back(renamed(output));
  }
  tell_watchers([&](Watcher& watcher) { watcher.called(call); });
  return call.outputs;
}

}  // namespace lento

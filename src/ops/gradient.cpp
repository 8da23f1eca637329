// What decides about derivatives while a function runs. The derivatives themselves are taken in src/autograd.
#include <lento/autograd.h>

#include "ops/compose.h"
#include "ops/gradient.calls.gen.h"
#include "tensor/watch.h"

namespace lento {

using composite::renamed;

Tensor stop_gradient(const Tensor& x) {
  if (current_watcher == nullptr) return x;
  const Concealed concealed({&x, 1});
  return renamed(x);
}

bool is_differentiated(const Tensor& x) {
  bool any = false;
  tell_watchers([&](const Watcher& watcher) { any |= watcher.follows_value(*x.state()); });
  return any;
}

std::vector<Tensor> custom_gradient(const TensorFunction& function, const BackwardFunction& backward,
                                    const std::vector<Tensor>& inputs) {
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

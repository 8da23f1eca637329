// Derivatives of plain code. What a function computes from its arguments is followed while it runs, so control flow,
// in-place updates and reads of values inside of it are all right; the derivative is made of ordinary ops, so it is
// recorded, compiled and cached with everything else, and can be differentiated again.
#pragma once

#include <lento/export.h>
#include <lento/tensor.h>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace lento {

/// Functions of several tensors.
using TensorFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
/// Computes the cotangents of a function's inputs from its inputs, its outputs and the outputs' cotangents.
using BackwardFunction = std::function<std::vector<Tensor>(
    const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents)>;

/// Follows what the calling thread computes from chosen tensors. What `grad`, `vjp` and `jvp` are made of.
class LENTO_API Differentiation {
 public:
  /// Begins to follow; ends with end() or its destruction, in the same thread.
  Differentiation();
  ~Differentiation();
  Differentiation(const Differentiation&) = delete;
  Differentiation& operator=(const Differentiation&) = delete;

  /// A tensor with the value of `x` that is followed, and with it what is computed from it. Throws DTypeError unless
  /// `x` is floating or complex.
  Tensor follow(const Tensor& x, std::source_location site = std::source_location::current());
  /// Stops following. What was computed can be differentiated as often as wanted.
  void end();

  /// The gradients, with respect to tensors that follow() gave, of the sum of `cotangents[i] * outputs[i]`; zeros where
  /// nothing depends on one. For complex tensors it is the gradient by the real part plus i times that by the imaginary
  /// part, of a real sum of conj(cotangent) * output (PyTorch's convention).
  std::vector<Tensor> pull_back(const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents,
                                const std::vector<Tensor>& inputs,
                                std::source_location site = std::source_location::current()) const;
  /// The change of each output when `inputs` (from follow()) change by `tangents`.
  std::vector<Tensor> push_forward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                   const std::vector<Tensor>& tangents,
                                   std::source_location site = std::source_location::current()) const;

  /// For garbage collectors: calls `backward` and `recomputed` with each function of a custom_gradient and of a
  /// checkpoint that this holds a copy of.
  void visit_functions(const std::function<void(const BackwardFunction&)>& backward,
                       const std::function<void(const TensorFunction&)>& recomputed) const;
  /// Forgets what was computed, and those functions.
  void forget();

 private:
  class Log;
  std::unique_ptr<Log> log_;
};

/// `x` as a constant: derivatives do not pass.
LENTO_API Tensor stop_gradient(const Tensor& x, std::source_location site = std::source_location::current());

/// Whether the calling thread is inside of a function that is being differentiated, and `x` is on the way of the
/// derivative. What turns such a tensor into a plain number loses it.
LENTO_API bool is_differentiated(const Tensor& x);

/// Calls `function`, whose derivative is to be `backward` instead of that of the ops it is made of.
LENTO_API std::vector<Tensor> custom_gradient(const TensorFunction& function, const BackwardFunction& backward,
                                              const std::vector<Tensor>& inputs,
                                              std::source_location site = std::source_location::current());
/// Calls `function` without keeping what its derivative needs: that is computed again on the way back, with the same
/// random numbers, whichever generators they came from.
LENTO_API std::vector<Tensor> checkpoint(const TensorFunction& function, const std::vector<Tensor>& inputs,
                                         std::source_location site = std::source_location::current());

/// A function's outputs, and what turns their cotangents into those of its inputs.
struct Vjp {
  std::vector<Tensor> outputs;
  std::function<std::vector<Tensor>(const std::vector<Tensor>& cotangents)> pull;
};
/// Errors of `pull` name this line.
LENTO_API Vjp vjp(const TensorFunction& function, const std::vector<Tensor>& inputs,
                  std::source_location site = std::source_location::current());

/// A function's outputs, and their change when the inputs change by `tangents`.
struct Jvp {
  std::vector<Tensor> outputs;
  std::vector<Tensor> tangents;
};
LENTO_API Jvp jvp(const TensorFunction& function, const std::vector<Tensor>& inputs,
                  const std::vector<Tensor>& tangents, std::source_location site = std::source_location::current());

/// A scalar and its gradients.
struct ValueAndGrad {
  Tensor value;
  std::vector<Tensor> grads;  // one for each differentiated argument
};
/// `function` must give one real scalar.
LENTO_API ValueAndGrad value_and_grad(const std::function<Tensor(const std::vector<Tensor>&)>& function,
                                      const std::vector<Tensor>& inputs,
                                      std::source_location site = std::source_location::current());

namespace detail {

template <class F, class... Args>
ValueAndGrad value_and_grad_of(const F& function, const std::source_location& site, const Args&... args) {
  return value_and_grad(
      [&](const std::vector<Tensor>& followed) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) -> Tensor {
          return function(followed[I]...);
        }(std::index_sequence_for<Args...>{});
      },
      {args...}, site);
}

}  // namespace detail

/// auto [value, grads] = value_and_grad([](const Tensor& w, const Tensor& b) { … })(w, b): by all arguments.
template <class F>
  requires(!std::is_same_v<std::decay_t<F>, std::function<Tensor(const std::vector<Tensor>&)>>)
auto value_and_grad(F function) {
  return
      [function = std::move(function)]<std::same_as<Tensor>... Args>(const LocatedTensor& first, const Args&... rest) {
        return detail::value_and_grad_of(function, first.site, first.tensor, rest...);
      };
}

/// The gradient of a function of one tensor that gives a scalar: `grad(f)(x)`. Nests: `grad(grad(f))(x)`.
template <class F>
auto grad(F function) {
  return
      [function = std::move(function)](const Tensor& x, std::source_location site = std::source_location::current()) {
        return std::move(detail::value_and_grad_of(function, site, x).grads[0]);
      };
}

}  // namespace lento

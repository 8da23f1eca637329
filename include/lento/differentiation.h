// What derivatives are made of: following what a thread computes from chosen tensors, and functions of several tensors
// whose derivative is given or computed again. Most programs need lento/autograd.h alone, which is made of it.
#pragma once

#include <lento/export.h>
#include <lento/tensor.h>

#include <functional>
#include <memory>
#include <source_location>
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

/// The same by another name.
inline Tensor detach(const Tensor& x, std::source_location site = std::source_location::current()) {
  return stop_gradient(x, site);
}

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

}  // namespace lento

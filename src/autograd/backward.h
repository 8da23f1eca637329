// The derivatives that Lento makes around functions it was given. They are named types that hold what they were given
// by value, so that a garbage collector can look through a log of derivatives (Differentiation::visit_functions).
#pragma once

#include <lento/batching.h>
#include <lento/differentiation.h>

#include "tensor/draws.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace lento {

/// The derivative of a function that is called again for it (checkpoint).
struct RecomputedBackward {
  TensorFunction function;
  std::shared_ptr<const std::vector<Draw>> draws;  // those of the first call

  std::vector<Tensor> operator()(const std::vector<Tensor>& given, const std::vector<Tensor>& outputs,
                                 const std::vector<Tensor>& cotangents) const;
};

/// The derivative of a custom call for all examples (vmap). What is the same for all gets the sum.
struct BatchedBackward {
  BackwardFunction backward;                      // that of one example
  bool captures;                                  // the call reads what differs between the examples and is no input
  std::vector<std::optional<std::int64_t>> axes;  // of the examples in the inputs
  Randomness randomness;

  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                                 const std::vector<Tensor>& cotangents) const;
};

}  // namespace lento

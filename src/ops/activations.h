// What losses and densities take from the activations.
#pragma once

#include <lento/tensor.h>

namespace lento::composite {

/// log(sigmoid(x)) without overflow, in the dtype of `x`.
Tensor log_of_sigmoid(const Tensor& x);

}  // namespace lento::composite

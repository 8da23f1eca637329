// The cofactors of a matrix, which are the derivative of its determinant.
#pragma once

#include <lento/tensor.h>

namespace lento::composite {

/// The conjugate cofactors of square float32, float64 or complex matrices of at least two rows by their singular
/// values: for matrices that are singular, or whose determinant is too small or too large for a number. Can be
/// differentiated.
Tensor conjugate_cofactors_by_values(const Tensor& x);

}  // namespace lento::composite

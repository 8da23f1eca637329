// Norms of vectors that lie along axes, and their derivatives.
#pragma once

#include <lento/tensor.h>

namespace lento::composite {

/// `x`, which is not negative, to the power 1/p. At 0, where the power has none, the derivative is 0.
Tensor root_of(const Tensor& x, double p);
/// The sum of |x|^p over `axes` (kept), to the power 1/p. The values 0, 1, 2 and infinity of p have their own formula.
/// Throws ValueError for -inf and no elements.
Tensor vector_norm_kept(const Tensor& x, double p, const Ints& axes);
/// The derivative of the norm of a finite order by the elements of `x`, of which there are some: sign(x) times
/// (|x| / norm)^(p - 1), and 0 at 0. It is right also where the powers of the elements are no numbers.
Tensor norm_slope(const Tensor& x, double p, const Ints& axes);

}  // namespace lento::composite

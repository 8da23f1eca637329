#include "ops/norms.h"

#include <lento/differentiation.h>

#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/norms.calls.gen.h"

#include <cmath>

namespace lento::composite {

Tensor root_of(const Tensor& x, double p) {
  if (p <= 1) return lento::pow(x, 1 / p);
  const Tensor zero = equal(x, 0);
  const Tensor positive = where(zero, 1, x);
  return where(zero, 0, p == 2 ? sqrt(positive) : lento::pow(positive, 1 / p));
}

namespace {

/// The norm of a finite order p other than 0.
Tensor root_of_powers(const Tensor& x, double p, const Ints& axes) {
  if (p == 2) {
    // Not by abs, which has corners that the square has not.
    const Tensor squares = is_complex(x.dtype())
                               ? add(multiply(lento::real(x), lento::real(x)), multiply(lento::imag(x), lento::imag(x)))
                               : multiply(x, x);
    return root_of(sum_kept(squares, axes), 2);
  }
  const Tensor magnitude = abs(x);
  if (p < 0 || p > 1) return root_of(sum_kept(lento::pow(magnitude, p), axes), p);
  const Tensor zero = equal(magnitude, 0);
  return root_of(sum_kept(where(zero, 0, lento::pow(where(zero, 1, magnitude), p)), axes), p);
}

}  // namespace

Tensor norm_slope(const Tensor& x, double p, const Ints& axes) {
  // Of elements scaled to about 1, which changes nothing: powers of small and of large numbers are 0 or infinite.
  const Tensor size = stop_gradient(abs(x));
  const Tensor extreme = p > 0 ? max_kept(size, axes) : prim::reduce_min(size, axes, true);
  const Tensor y = divide(x, where(bitwise_and(greater(extreme, 0), isfinite(extreme)), extreme, 1));
  const Tensor norm = root_of_powers(y, p, axes);
  const Tensor divisor = where(equal(norm, 0), 1, norm);
  if (p == 2) return divide(y, divisor);
  const Tensor zero = equal(y, 0);
  const Tensor length = where(zero, 1, abs(y));
  // Whichever way the quotient is at most about 1.
  const Tensor power = p > 1 ? lento::pow(divide(length, divisor), p - 1) : lento::pow(divide(norm, length), 1 - p);
  return where(zero, 0, multiply(sign(y), power));
}

Tensor vector_norm_kept(const Tensor& x, double p, const Ints& axes) {
  if (p == 0) return converted(sum_kept(converted(not_equal(x, 0), DType::int64), axes), real_type(x.dtype()));
  if (p == 1) return sum_kept(abs(x), axes);
  if (std::isinf(p)) {
    const Tensor magnitude = abs(x);
    bool empty = false;
    for (const std::int64_t axis : axes) empty |= x.shape()[static_cast<std::size_t>(axis)] == 0;
    if (empty && p < 0)
      fail<ValueError>("the smallest absolute value of no elements: shape {}, axes {}", x.shape(), axes);
    if (empty) return sum_kept(magnitude, axes);
    return p > 0 ? max_kept(magnitude, axes) : prim::reduce_min(magnitude, axes, true);
  }
  if (x.size() == 0) return root_of_powers(x, p, axes);
  const auto value = [=](const std::vector<Tensor>& inputs) { return std::vector{root_of_powers(inputs[0], p, axes)}; };
  const auto slope = [=](const std::vector<Tensor>& inputs, const std::vector<Tensor>&,
                         const std::vector<Tensor>& cotangents) {
    return std::vector{multiply(norm_slope(inputs[0], p, axes), cotangents[0])};
  };
  return custom_gradient(value, slope, {x})[0];
}

}  // namespace lento::composite

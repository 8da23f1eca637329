// Everyday numerics of NumPy (ops/numeric.yaml): differences, interpolation, polynomials, convolution of vectors.
#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/numeric.calls.gen.h"
#include "ops/record_limit.h"

#include <algorithm>
#include <complex>
#include <limits>

namespace lento::composite {

namespace {

void require_vector(const Tensor& x) {
  if (x.rank() != 1) fail<ShapeError>("{} is no vector", type_of(x));
}

/// Sums of products of `x` with `kernel` moved along it, in the direction of the kernel.
Tensor moved_products(const Tensor& x, const Tensor& kernel, std::string_view mode) {
  require_vector(x);
  require_vector(kernel);
  const std::int64_t n = x.size();
  const std::int64_t m = kernel.size();
  if (n == 0 || m == 0) fail<ValueError>("both vectors need elements, got {} and {}", type_of(x), type_of(kernel));
  const std::int64_t shorter = std::min(n, m);
  const std::int64_t longer = std::max(n, m);
  const Ints none{m - 1};
  const Tensor whole =
      prim::convolution(reshaped(x, Shape{1, 1, n}), reshaped(kernel, Shape{1, 1, m}), Ints{1}, none, none, Ints{1}, 1);
  Tensor line = reshaped(whole, Shape{n + m - 1});
  if (mode == "full") return line;
  if (mode == "same") return sliced(line, 0, (shorter - 1) / 2, longer);
  return sliced(line, 0, shorter - 1, longer - shorter + 1);
}

Tensor without_nan(const Tensor& x, bool largest) {
  if (!is_floating(x.dtype())) return x;
  const double infinity = std::numeric_limits<double>::infinity();
  return where(isnan(x), largest ? -infinity : infinity, x);
}

bool is_whole(DType dtype) { return !is_floating(dtype) && !is_complex(dtype); }

/// Checks the distances along an axis of `x`, as the caller gave both: later they may have been converted.
void require_spacing(const Tensor& x, const Operand& spacing, std::int64_t axis) {
  const bool complex_spacing =
      spacing.is_tensor() ? is_complex(spacing.tensor().dtype()) : spacing.scalar().is_complex();
  if (complex_spacing && !is_complex(x.dtype())) {
    const DType result = is_whole(x.dtype()) ? kDefaultFloat : x.dtype();
    fail<DTypeError>("the spacing is complex, and {} is not: the result would be no {}", type_of(x), result);
  }
  if (!spacing.is_tensor() || spacing.tensor().rank() == 0) return;
  const Tensor& positions = spacing.tensor();
  require_vector(positions);
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
  if (positions.size() != extent) {
    fail<ShapeError>("{} positions for the {} elements along axis {} of {}", positions.size(), extent, axis,
                     type_of(x));
  }
}

/// What distances of this dtype are converted to beside `x`, which they are divided into.
DType spacing_type(const Tensor& x, DType dtype) { return is_complex(dtype) ? x.dtype() : real_type(x.dtype()); }

/// The distances of neighbours along an axis of `x`, which lie at `positions`.
Tensor gaps_of(const Tensor& positions, const Tensor& x, std::int64_t axis) {
  const std::int64_t extent = positions.size();
  // Before anything is rounded: large positions are often close together.
  const Tensor exact = is_whole(positions.dtype()) ? converted(positions, DType::float64) : positions;
  const Tensor gaps = subtract(sliced(exact, 0, 1, extent - 1), sliced(exact, 0, 0, extent - 1));
  return along(converted(gaps, spacing_type(x, gaps.dtype())), axis, x.rank());
}

/// The derivative of the parabola through three neighbours each, at the middle one; at the ends of a straight line, or
/// of a parabola again.
Tensor gradient_between(const Tensor& x, const Tensor& gaps, std::int64_t axis, std::int64_t edge_order) {
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
  const auto part = [&](std::int64_t from, std::int64_t count) { return sliced(x, axis, from, count); };
  const auto gap = [&](std::int64_t from, std::int64_t count) { return sliced(gaps, axis, from, count); };
  const auto slope = [&](std::int64_t from, std::int64_t count) {
    return divide(subtract(part(from + 1, count), part(from, count)), gap(from, count));
  };
  if (extent == 2) return prim::concatenate({slope(0, 1), slope(0, 1)}, axis);
  // What the slope itself changes by, over the distance of the outer two of three.
  const auto bend = [&](std::int64_t from, std::int64_t count) {
    return divide(subtract(slope(from + 1, count), slope(from, count)), add(gap(from, count), gap(from + 1, count)));
  };
  const std::int64_t last = extent - 2;  // the last gap
  const Tensor inside = add(slope(0, last), multiply(bend(0, last), gap(0, last)));
  Tensor first = slope(0, 1);
  Tensor end = slope(last, 1);
  if (edge_order == 2) {
    first = subtract(first, multiply(bend(0, 1), gap(0, 1)));
    end = add(end, multiply(bend(last - 1, 1), gap(last, 1)));
  }
  return prim::concatenate({first, inside, end}, axis);
}

}  // namespace

AminmaxResult aminmax(const Tensor& x, const std::optional<Ints>& axis, bool keepdims) {
  const Ints axes = axes_of(x, axis);
  return {prim::reduce_min(x, axes, keepdims), prim::reduce_max(x, axes, keepdims)};
}

Tensor nanargmax(const Tensor& x, std::optional<std::int64_t> axis, bool keepdims) {
  return lento::argmax(without_nan(x, true), axis, keepdims);
}

Tensor nanargmin(const Tensor& x, std::optional<std::int64_t> axis, bool keepdims) {
  return lento::argmin(without_nan(x, false), axis, keepdims);
}

Tensor gradient(const Tensor& x, const Operand& spacing, std::int64_t axis, std::int64_t edge_order) {
  const std::int64_t at = axis_of(x, axis);
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(at)];
  if (edge_order != 1 && edge_order != 2) fail<ValueError>("edge_order is {}; it must be 1 or 2", edge_order);
  if (extent <= edge_order) {
    fail<ShapeError>("axis {} of {} has fewer than {} elements", axis, type_of(x), edge_order + 1);
  }
  require_spacing(x, spacing, at);
  // Large integers are often close together: their differences are taken before anything is rounded to float32.
  if (is_whole(x.dtype())) {
    return converted(composite::gradient(converted(x, DType::float64), spacing, axis, edge_order), kDefaultFloat);
  }
  if (spacing.is_tensor() && spacing.tensor().rank() != 0) {
    return gradient_between(x, gaps_of(spacing.tensor(), x, at), at, edge_order);
  }
  const bool is_complex_number = !spacing.is_tensor() && spacing.scalar().is_complex();
  // As a number where it is one: the quotient is rounded once.
  const auto over = [&](const Tensor& change, double gaps) {
    if (is_complex_number) return divide(change, gaps * spacing.scalar().to<std::complex<double>>());
    if (!spacing.is_tensor()) return divide(change, gaps * spacing.scalar().to<double>());
    return divide(change, multiply(converted(spacing.tensor(), spacing_type(x, spacing.tensor().dtype())), gaps));
  };
  const auto part = [&](std::int64_t from, std::int64_t count) { return sliced(x, at, from, count); };
  const auto change = [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    return subtract(part(to, count), part(from, count));
  };
  const auto edge = [&](std::int64_t end, std::int64_t next, std::int64_t far, double sign) {
    if (edge_order == 1) return over(sign > 0 ? change(end, next, 1) : change(next, end, 1), 1);
    const Tensor sum = add(multiply(part(end, 1), -1.5 * sign), multiply(part(next, 1), 2 * sign));
    return over(add(sum, multiply(part(far, 1), -0.5 * sign)), 1);
  };
  const Tensor inside = over(change(0, 2, extent - 2), 2);
  return prim::concatenate({edge(0, 1, 2, 1), inside, edge(extent - 1, extent - 2, extent - 3, -1)}, at);
}

Tensor interp(const Tensor& x, const Tensor& xp, const Tensor& fp) {
  require_vector(xp);
  if (xp.shape() != fp.shape() || xp.size() == 0) {
    fail<ShapeError>("positions {} and values {} must be vectors of one length, at least 1", type_of(xp), type_of(fp));
  }
  const DType dtype = promote(promote(x.dtype(), xp.dtype()), fp.dtype());
  const Tensor asked = converted(x, dtype);
  const Tensor places = converted(to_float(xp), dtype);
  const Tensor values = converted(to_float(fp), dtype);
  const std::int64_t last = xp.size() - 1;
  const Tensor first_value = picked(values, 0, 0);
  if (last == 0) return where(isnan(asked), asked, first_value);
  const Tensor left = minimum(maximum(subtract(prim::search_sorted(places, asked, true), 1), 0), last - 1);
  const Tensor right = add(left, 1);
  const auto at = [&](const Tensor& vector, const Tensor& position) { return prim::take_axis(vector, position, 0); };
  const Tensor x0 = at(places, left);
  const Tensor y0 = at(values, left);
  const Tensor slope = divide(subtract(at(values, right), y0), subtract(at(places, right), x0));
  const Tensor inside = add(multiply(slope, subtract(asked, x0)), y0);
  const Tensor low = where(less(asked, picked(places, 0, 0)), first_value, inside);
  return where(greater_equal(asked, picked(places, 0, last)), picked(values, 0, last), low);
}

Tensor convolve(const Tensor& x1, const Tensor& x2, std::string_view mode) {
  require_vector(x2);
  return moved_products(x1, lento::flip(x2), mode);
}

Tensor correlate(const Tensor& x1, const Tensor& x2, std::string_view mode) {
  return moved_products(x1, is_complex(x2.dtype()) ? conj(x2) : x2, mode);
}

Tensor polyval(const Tensor& p, const Tensor& x) {
  require_vector(p);
  require_recordable(p.size(), "coefficients");
  Tensor value = number_tensor(0, x.dtype(), x.device(), x.shape());
  for (std::int64_t i = 0; i < p.size(); ++i) value = add(multiply(value, x), picked(p, 0, i));
  return value;
}

Tensor polyfit(const Tensor& x, const Tensor& y, std::int64_t deg, std::optional<double> rcond,
               const std::optional<Tensor>& w) {
  require_vector(x);
  if (x.size() == 0 || y.rank() < 1 || y.rank() > 2 || y.shape()[0] != x.size()) {
    fail<ShapeError>("the points {} and {} must be vectors of one length, at least 1, or a matrix with so many rows",
                     type_of(x), type_of(y));
  }
  if (deg < 0) fail<ValueError>("the degree cannot be negative, got {}", deg);
  Tensor powers = lento::vander(converted(x, DType::float64), deg + 1);
  Tensor values = converted(y, DType::float64);
  if (w) {
    if (w->shape() != x.shape()) fail<ShapeError>("the weights {} must have the shape of {}", type_of(*w), type_of(x));
    const Tensor weights = converted(*w, DType::float64);
    powers = multiply(powers, with_axis(weights, 1));
    values = multiply(values, along(weights, 0, values.rank()));
  }
  // Columns of one length: large powers would hide the small ones.
  const Tensor length = sqrt(sum_over(multiply(powers, powers), Ints{0}, true));
  const Tensor scale = where(greater(length, 0), length, 1);
  const double cutoff = rcond.value_or(static_cast<double>(x.size()) * std::numeric_limits<double>::epsilon());
  const Tensor solution = linalg::lstsq(divide(powers, scale), values, cutoff).solution;
  return converted(divide(solution, along(flat(scale), 0, solution.rank())), x.dtype());
}

Tensor cbrt(const Tensor& x) {
  const Tensor wide = to_wide_float(x);
  const Tensor size = abs(wide);
  const Tensor guess = lento::pow(size, 1.0 / 3);
  // 1/3 is not exact, so that the guess is off by a few units for large numbers: one step of Newton's method.
  const Tensor better = subtract(guess, divide(subtract(guess, divide(size, multiply(guess, guess))), 3));
  const Tensor usable = bitwise_and(greater(size, 0), isfinite(size));
  return converted(copysign(where(usable, better, size), wide), x.dtype());
}

Tensor around(const Tensor& x, std::int64_t decimals) {
  if (decimals == 0 || (is_integer(x.dtype()) && decimals > 0)) return round(x);
  if (decimals < -300 || decimals > 300) fail<ValueError>("decimals must be between -300 and 300, got {}", decimals);
  double power = 1;
  for (std::int64_t i = std::abs(decimals); i > 0; --i) power *= 10;
  const Tensor wide = is_integer(x.dtype()) ? converted(x, DType::float64) : x;
  const Tensor rounded =
      decimals > 0 ? divide(round(multiply(wide, power)), power) : multiply(round(divide(wide, power)), power);
  return converted(rounded, x.dtype());
}

}  // namespace lento::composite

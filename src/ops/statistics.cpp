// Reductions and running combinations (ops/statistics.yaml); the wrappers have made floats of integers where the rule
// says so. Quantiles and histograms are in distributions.cpp.
#include <lento/differentiation.h>

#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/norms.h"
#include "ops/statistics.calls.gen.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lento::composite {

namespace {

/// The mean of what is already in a wide float.
Tensor mean_of(const Tensor& x, const Ints& axes, bool keep) {
  return divide(sum_over(x, axes, keep), static_cast<double>(count_along(x, axes)));
}

/// |x|^2, real.
Tensor squared_length(const Tensor& x) {
  if (!is_complex(x.dtype())) return multiply(x, x);
  const Tensor re = real(x);
  const Tensor im = imag(x);
  return add(multiply(re, re), multiply(im, im));
}

/// `x` in the dtype that was asked for, or floating in any case. Straight from its own: float32 does not hold every
/// int64.
Tensor to_floating(const Tensor& x, std::optional<DType> dtype) {
  if (!dtype) return to_float(x);
  if (!is_floating(*dtype) && !is_complex(*dtype))
    fail<DTypeError>("dtype is {}; it must be floating or complex", *dtype);
  if (is_complex(x.dtype()) && !is_complex(*dtype)) {
    fail<DTypeError>("{} cannot become {}: the imaginary parts would be lost", type_of(x), *dtype);
  }
  return converted(x, *dtype);
}

DType result_dtype(const Tensor& x, DType wide) { return is_half(x.dtype()) ? x.dtype() : wide; }

struct Moments {
  Tensor var, mean;
};

Moments moments_of(const Tensor& x, const Ints& axes, const Scalar& correction, bool keep) {
  const Tensor wide = to_wide_float(x);
  const Tensor mean = mean_of(wide, axes, true);
  const double left = static_cast<double>(count_along(x, axes)) - correction.to<double>();
  const Tensor var = divide(sum_over(squared_length(subtract(wide, mean)), axes, keep), std::max(left, 0.0));
  return {converted(var, result_dtype(x, var.dtype())),
          converted(keep ? mean : reshaped(mean, without_axes(mean.shape(), axes)), x.dtype())};
}

/// The root of the variance. Its derivative is that of a norm, which needs no squares that are numbers.
Tensor deviation(const Tensor& x, const Ints& axes, const Scalar& correction, bool keep) {
  const Tensor wide = to_wide_float(x);
  const Tensor centred = subtract(wide, mean_of(wide, axes, true));
  const double left = std::max(static_cast<double>(count_along(x, axes)) - correction.to<double>(), 0.0);
  const DType dtype = result_dtype(x, real_type(wide.dtype()));
  const auto value = [=](const std::vector<Tensor>& inputs) {
    const Tensor var = divide(sum_over(squared_length(inputs[0]), axes, keep), left);
    return std::vector{root_of(converted(var, dtype), 2)};
  };
  const auto slope = [=](const std::vector<Tensor>& inputs, const std::vector<Tensor>&,
                         const std::vector<Tensor>& cotangents) {
    const Tensor& from = inputs[0];
    if (from.size() == 0) return inputs;
    const Tensor arriving =
        reshaped(converted(cotangents[0], real_type(from.dtype())), without_axes(from.shape(), axes, true));
    return std::vector{multiply(norm_slope(from, 2, axes), divide(arriving, std::sqrt(left)))};
  };
  return custom_gradient(value, slope, {centred})[0];
}

Tensor scanned(const Tensor& x, std::int64_t axis, std::optional<DType> dtype, bool product) {
  const Tensor wide = converted(x, dtype.value_or(sum_dtype(x.dtype())));
  return product ? prim::scan_prod(wide, axis) : prim::scan_sum(wide, axis);
}

Tensor cumulative(const Tensor& x, std::optional<std::int64_t> axis, std::optional<DType> dtype, bool include_initial,
                  bool product) {
  if (!axis && x.rank() != 1) fail<ValueError>("{} has {} axes: say along which one", type_of(x), x.rank());
  const std::int64_t at = axis_of(x, axis.value_or(0));
  Tensor running = scanned(x, at, dtype, product);
  if (!include_initial) return running;
  Ints low(x.shape().size(), 0);
  const Ints high = low;
  low[static_cast<std::size_t>(at)] = 1;
  return prim::pad_constant(running, product ? 1 : 0, low, high);
}

/// Positions of running extremes: the last one so far whose element equals the extreme (or is nan, like it).
Tensor running_positions(const Tensor& x, const Tensor& extremes, std::int64_t axis) {
  const Tensor position = along(counting(x.shape()[static_cast<std::size_t>(axis)], x.device()), axis, x.rank());
  const Tensor here = is_floating(x.dtype()) ? bitwise_or(equal(x, extremes), isnan(x)) : equal(x, extremes);
  return prim::scan_max(where(here, position, 0), axis);
}

/// nan replaced by what loses against everything, for nanmax and nanmin.
Tensor extreme_without_nan(const Tensor& x, const std::optional<Ints>& axis, bool keepdims, bool largest) {
  const Ints axes = axes_of(x, axis);
  const auto reduced = [&](const Tensor& values) {
    return largest ? prim::reduce_max(values, axes, keepdims) : prim::reduce_min(values, axes, keepdims);
  };
  if (!is_floating(x.dtype())) return reduced(x);
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor missing = isnan(x);
  const Tensor found = reduced(where(missing, largest ? -infinity : infinity, x));
  return where(prim::reduce_all(missing, axes, keepdims), std::numeric_limits<double>::quiet_NaN(), found);
}

}  // namespace

Tensor sum(const Tensor& x, const std::optional<Ints>& axis, std::optional<DType> dtype, bool keepdims) {
  return prim::reduce_sum(converted(x, dtype.value_or(sum_dtype(x.dtype()))), axes_of(x, axis), keepdims);
}

Tensor prod(const Tensor& x, const std::optional<Ints>& axis, std::optional<DType> dtype, bool keepdims) {
  return prim::reduce_prod(converted(x, dtype.value_or(sum_dtype(x.dtype()))), axes_of(x, axis), keepdims);
}

Tensor max(const Tensor& x, const std::optional<Ints>& axis, bool keepdims) {
  return prim::reduce_max(x, axes_of(x, axis), keepdims);
}

Tensor min(const Tensor& x, const std::optional<Ints>& axis, bool keepdims) {
  return prim::reduce_min(x, axes_of(x, axis), keepdims);
}

Tensor all(const Tensor& x, const std::optional<Ints>& axis, bool keepdims) {
  return prim::reduce_all(x, axes_of(x, axis), keepdims);
}

Tensor any(const Tensor& x, const std::optional<Ints>& axis, bool keepdims) {
  return prim::reduce_any(x, axes_of(x, axis), keepdims);
}

Tensor count_nonzero(const Tensor& x, const std::optional<Ints>& axis, bool keepdims) {
  return count_true(converted(x, DType::bool_), axes_of(x, axis), keepdims);
}

Tensor mean(const Tensor& x, const std::optional<Ints>& axis, bool keepdims, std::optional<DType> dtype) {
  const Tensor values = to_floating(x, dtype);
  return converted(mean_of(to_wide_float(values), axes_of(x, axis), keepdims), values.dtype());
}

Tensor var(const Tensor& x, const std::optional<Ints>& axis, const Scalar& correction, bool keepdims,
           std::optional<DType> dtype) {
  return moments_of(to_floating(x, dtype), axes_of(x, axis), correction, keepdims).var;
}

VarMeanResult var_mean(const Tensor& x, const std::optional<Ints>& axis, const Scalar& correction, bool keepdims) {
  const Moments moments = moments_of(x, axes_of(x, axis), correction, keepdims);
  return {moments.var, moments.mean};
}

StdMeanResult std_mean(const Tensor& x, const std::optional<Ints>& axis, const Scalar& correction, bool keepdims) {
  const Moments moments = moments_of(x, axes_of(x, axis), correction, keepdims);
  return {deviation(x, axes_of(x, axis), correction, keepdims), moments.mean};
}

Tensor std(const Tensor& x, const std::optional<Ints>& axis, const Scalar& correction, bool keepdims,
           std::optional<DType> dtype) {
  return deviation(to_floating(x, dtype), axes_of(x, axis), correction, keepdims);
}

Tensor average(const Tensor& x, const std::optional<Ints>& axis, const std::optional<Tensor>& weights, bool keepdims) {
  const Ints axes = axes_of(x, axis);
  if (!weights) return converted(mean_of(to_wide_float(x), axes, keepdims), x.dtype());
  Tensor factors = to_float(*weights);
  if (factors.rank() == 1 && x.rank() > 1 && axes.size() == 1) factors = along(factors, axes[0], x.rank());
  factors = broadcast(factors, x.shape());
  return divide(sum_over(multiply(x, factors), axes, keepdims), sum_over(factors, axes, keepdims));
}

Tensor cumulative_sum(const Tensor& x, std::optional<std::int64_t> axis, std::optional<DType> dtype,
                      bool include_initial) {
  return cumulative(x, axis, dtype, include_initial, false);
}

Tensor cumulative_prod(const Tensor& x, std::optional<std::int64_t> axis, std::optional<DType> dtype,
                       bool include_initial) {
  return cumulative(x, axis, dtype, include_initial, true);
}

Tensor cumsum(const Tensor& x, std::optional<std::int64_t> axis, std::optional<DType> dtype) {
  return axis ? scanned(x, axis_of(x, *axis), dtype, false) : scanned(flat(x), 0, dtype, false);
}

Tensor cumprod(const Tensor& x, std::optional<std::int64_t> axis, std::optional<DType> dtype) {
  return axis ? scanned(x, axis_of(x, *axis), dtype, true) : scanned(flat(x), 0, dtype, true);
}

CummaxResult cummax(const Tensor& x, std::int64_t axis) {
  const std::int64_t at = axis_of(x, axis);
  const Tensor values = prim::scan_max(x, at);
  return {values, running_positions(x, values, at)};
}

CumminResult cummin(const Tensor& x, std::int64_t axis) {
  const std::int64_t at = axis_of(x, axis);
  const Tensor values = prim::scan_min(x, at);
  return {values, running_positions(x, values, at)};
}

Tensor logsumexp(const Tensor& x, const std::optional<Ints>& axis, bool keepdims) {
  const Ints axes = axes_of(x, axis);
  const Tensor wide = to_wide_float(x);
  if (count_along(x, axes) == 0) {
    const double infinity = std::numeric_limits<double>::infinity();
    return number_tensor(-infinity, x.dtype(), x.device(), without_axes(x.shape(), axes, keepdims));
  }
  const Tensor largest = stop_gradient(prim::reduce_max(wide, axes, true));
  // Where the largest is infinite (or nan) subtracting it would make nan of everything.
  const Tensor shift = where(isfinite(largest), largest, 0);
  const Tensor total = add(log(sum_over(exp(subtract(wide, shift)), axes, true)), shift);
  return converted(keepdims ? total : reshaped(total, without_axes(x.shape(), axes)), x.dtype());
}

Tensor logcumsumexp(const Tensor& x, std::int64_t axis) {
  const std::int64_t at = axis_of(x, axis);
  const auto place = static_cast<std::size_t>(at);
  const std::int64_t extent = x.shape()[place];
  Tensor running = to_wide_float(x);
  // After the step with distance d each element holds the combination of the 2 d elements up to it.
  for (std::int64_t distance = 1; distance < extent; distance *= 2) {
    const Tensor head = sliced(running, at, 0, distance);
    const Tensor tail =
        logaddexp(sliced(running, at, distance, extent - distance), sliced(running, at, 0, extent - distance));
    running = prim::concatenate({head, tail}, at);
  }
  return converted(running, x.dtype());
}

Tensor nanmean(const Tensor& x, const std::optional<Ints>& axis, bool keepdims) {
  const Ints axes = axes_of(x, axis);
  const Tensor wide = to_wide_float(x);
  const Tensor present = logical_not(isnan(wide));
  const Tensor total = sum_over(where(present, wide, 0), axes, keepdims);
  return converted(divide(total, converted(count_true(present, axes, keepdims), real_type(wide.dtype()))), x.dtype());
}

Tensor nanvar(const Tensor& x, const std::optional<Ints>& axis, const Scalar& correction, bool keepdims) {
  const Ints axes = axes_of(x, axis);
  const Tensor wide = to_wide_float(x);
  const Tensor present = logical_not(isnan(wide));
  const Tensor count = converted(count_true(present, axes, true), wide.dtype());
  const Tensor mean = divide(sum_over(where(present, wide, 0), axes, true), count);
  const Tensor distance = where(present, subtract(wide, mean), 0);
  const Tensor left = subtract(count, correction);
  // No degrees of freedom left: nan, as NumPy has it.
  const Tensor var = divide(sum_over(multiply(distance, distance), axes, true),
                            where(greater(left, 0), left, std::numeric_limits<double>::quiet_NaN()));
  return converted(keepdims ? var : reshaped(var, without_axes(x.shape(), axes)), x.dtype());
}

Tensor nanmax(const Tensor& x, const std::optional<Ints>& axis, bool keepdims) {
  return extreme_without_nan(x, axis, keepdims, true);
}

Tensor nanmin(const Tensor& x, const std::optional<Ints>& axis, bool keepdims) {
  return extreme_without_nan(x, axis, keepdims, false);
}

Tensor trapezoid(const Tensor& y, const std::optional<Tensor>& x, const Scalar& dx, std::int64_t axis) {
  const std::int64_t at = axis_of(y, axis);
  const std::int64_t extent = y.shape()[static_cast<std::size_t>(at)];
  const std::int64_t gaps = std::max<std::int64_t>(extent - 1, 0);
  const Tensor ends = add(sliced(y, at, extent - gaps, gaps), sliced(y, at, 0, gaps));
  Tensor areas;
  if (x) {
    const Tensor places = to_float(*x);
    Tensor widths;
    if (places.rank() == 1) {
      if (places.size() != extent)
        fail<ShapeError>("{} positions for the {} elements along axis {} of {}", places.size(), extent, axis,
                         type_of(y));
      widths = along(subtract(sliced(places, 0, extent - gaps, gaps), sliced(places, 0, 0, gaps)), at, y.rank());
    } else {
      widths = lento::diff(places, 1, axis);
    }
    areas = multiply(ends, widths);
  } else {
    areas = multiply(ends, dx);
  }
  return multiply(sum_over(areas, Ints{at}), 0.5);
}

Tensor cov(const Tensor& x, const std::optional<Tensor>& y, bool rowvar, bool bias, std::optional<std::int64_t> ddof) {
  const auto rows = [&](const Tensor& given) {
    if (given.rank() > 2) fail<ShapeError>("{} has more than two axes", type_of(given));
    const Tensor matrix = lento::atleast_2d(given);
    return !rowvar && given.rank() == 2 ? swap_last(matrix) : matrix;
  };
  Tensor variables = rows(to_wide_float(x));
  if (y) variables = lento::concat({variables, rows(to_wide_float(*y))}, 0);
  const std::int64_t count = variables.shape()[1];
  const std::int64_t left = count - ddof.value_or(bias ? 0 : 1);
  const Tensor centred = subtract(variables, mean_of(variables, Ints{1}, true));
  const Tensor products =
      prim::matrix_multiply(centred, swap_last(is_complex(centred.dtype()) ? conj(centred) : centred));
  const Tensor result = divide(products, static_cast<double>(std::max<std::int64_t>(left, 0)));
  // One variable has a variance, not a matrix.
  return converted(result.size() == 1 ? reshaped(result, Shape{}) : result, result_dtype(x, result.dtype()));
}

Tensor corrcoef(const Tensor& x, const std::optional<Tensor>& y, bool rowvar) {
  const Tensor products = to_wide_float(lento::cov(x, y, rowvar));
  if (products.rank() == 0) return converted(divide(products, products), result_dtype(x, products.dtype()));
  const Tensor deviations = sqrt(real(lento::diagonal(products)));
  const Tensor scaled = divide(divide(products, with_axis(deviations, 1)), with_axis(deviations, 0));
  const Tensor bounded = is_complex(scaled.dtype()) ? scaled : maximum(minimum(scaled, 1), -1);
  return converted(bounded, result_dtype(x, scaled.dtype()));
}

}  // namespace lento::composite

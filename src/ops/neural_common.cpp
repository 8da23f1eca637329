// Helpers of the neural composites; see neural_common.h.
#include "ops/neural_common.h"

#include <lento/differentiation.h>

#include "base/fail.h"

#include <cmath>

namespace lento::composite::neural {

DType wide_type(DType dtype) { return is_half(dtype) ? DType::float32 : dtype; }

Tensor cast(const Tensor& x, DType dtype) { return x.dtype() == dtype ? x : prim::astype(x, dtype); }

Tensor widen(const Tensor& x) { return cast(x, wide_type(x.dtype())); }

std::int64_t checked_axis(std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) fail<IndexError>("axis {} is out of range for {} axes", axis, rank);
  return axis < 0 ? axis + count : axis;
}

Tensor sum_kept(const Tensor& x, const Ints& axes) { return prim::reduce_sum(x, axes, true); }

Tensor max_kept(const Tensor& x, const Ints& axes) { return prim::reduce_max(x, axes, true); }

Tensor mean_kept(const Tensor& x, const Ints& axes) {
  std::int64_t count = 1;
  for (const std::int64_t axis : axes) count *= x.shape()[static_cast<std::size_t>(axis)];
  return divide(sum_kept(x, axes), static_cast<double>(count));
}

Ints axes_from(std::size_t first, std::size_t rank) {
  Ints axes;
  for (std::size_t axis = first; axis < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  return axes;
}

Tensor slice_axis(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t size, std::int64_t step) {
  return prim::strided_slice(x, {Scalar(start)}, Ints{axis}, Ints{size}, Ints{step});
}

Tensor unsqueeze(const Tensor& x, std::int64_t axis) {
  Ints shape(x.shape());
  shape.insert(static_cast<std::size_t>(checked_axis(axis, shape.size() + 1)), 1);
  return prim::reshape(x, shape);
}

Tensor squeeze_axis(const Tensor& x, std::int64_t axis) {
  Ints shape(x.shape());
  shape.erase(static_cast<std::size_t>(checked_axis(axis, shape.size())));
  return prim::reshape(x, shape);
}

Tensor reshaped(const Tensor& x, const Shape& shape) { return x.shape() == shape ? x : prim::reshape(x, shape); }

Tensor swap_last(const Tensor& x) {
  Ints axes = axes_from(0, x.shape().size());
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return prim::permute_dims(x, axes);
}

Tensor along_axis(const Tensor& x, std::size_t axis, std::size_t rank) {
  Ints shape(rank, 1);
  shape[axis] = x.shape()[0];
  return prim::reshape(x, shape);
}

Ints spatial(const Ints& values, std::size_t count, std::string_view what) {
  if (values.size() == count) return values;
  if (values.size() != 1) fail<ShapeError>("{} has {} values, expected 1 or {}", what, values.size(), count);
  return Ints(count, values[0]);
}

// Larger ones cannot be multiplied by a length without overflow, and no memory holds what they ask for.
constexpr std::int64_t kLargest = std::int64_t{1} << 31;

void check_at_least(const Ints& values, std::int64_t least, std::string_view what) {
  for (const std::int64_t value : values) {
    if (value < least) fail<ValueError>("{} must be at least {}, got {}", what, least, values);
    if (value > kLargest) fail<ValueError>("{} must be at most {}, got {}", what, kLargest, values);
  }
}

Batched add_batch(const Tensor& x, std::size_t spatial_axes) {
  const std::size_t rank = x.shape().size();
  if (rank == spatial_axes + 2) return {x, false};
  if (rank != spatial_axes + 1) {
    fail<ShapeError>("the input must have {} axes, or {} without a batch axis, got shape {}", spatial_axes + 2,
                     spatial_axes + 1, x.shape());
  }
  return {unsqueeze(x, 0), true};
}

Tensor drop_batch(const Tensor& x, bool added) { return added ? squeeze_axis(x, 0) : x; }

Reduction parse_reduction(std::string_view name) {
  if (name == "mean") return Reduction::mean;
  if (name == "sum") return Reduction::sum;
  if (name == "none") return Reduction::none;
  fail<ValueError>("reduction must be 'none', 'mean' or 'sum', got '{}'", name);
}

Tensor reduce_loss(const Tensor& loss, Reduction reduction, DType dtype) {
  if (reduction == Reduction::none) return cast(loss, dtype);
  const Tensor total = prim::reduce_sum(loss, axes_from(0, loss.shape().size()), false);
  if (reduction == Reduction::sum) return cast(total, dtype);
  return cast(divide(total, static_cast<double>(element_count(loss.shape()))), dtype);
}

Tensor log_of_sigmoid(const Tensor& x) {
  const auto value = [](const std::vector<Tensor>& inputs) {
    const Tensor& t = inputs[0];
    return std::vector{subtract(minimum(t, 0), log1p(exp(negative(abs(t)))))};
  };
  // The formula has corners at 0 that the function has not.
  const auto slope = [](const std::vector<Tensor>& inputs, const std::vector<Tensor>&,
                        const std::vector<Tensor>& cotangents) {
    return std::vector{multiply(cotangents[0], sigmoid(negative(inputs[0])))};
  };
  return custom_gradient(value, slope, {x})[0];
}

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
  if (p == 0) return cast(sum_kept(cast(not_equal(x, 0), DType::int64), axes), real_type(x.dtype()));
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

}  // namespace lento::composite::neural

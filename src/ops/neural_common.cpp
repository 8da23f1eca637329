// Helpers of the neural composites; see neural_common.h.
#include "ops/neural_common.h"

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

Tensor vector_norm_kept(const Tensor& x, double p, const Ints& axes) {
  if (p == 2) return sqrt(sum_kept(multiply(x, x), axes));
  const Tensor magnitude = abs(x);
  if (p == 1) return sum_kept(magnitude, axes);
  if (p == 0) return sum_kept(cast(not_equal(x, 0), x.dtype()), axes);
  if (std::isinf(p)) return p > 0 ? max_kept(magnitude, axes) : prim::reduce_min(magnitude, axes, true);
  return lento::pow(sum_kept(lento::pow(magnitude, p), axes), 1 / p);
}

}  // namespace lento::composite::neural

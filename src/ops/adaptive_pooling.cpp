// Adaptive pooling (ops/pooling.yaml): window i of n over a length m goes from floor(i m / n) to ceil((i + 1) m / n).
// One axis at a time: the elements of each window are gathered side by side, padded to the longest window, and reduced.
#include "base/fail.h"
#include "ops/adaptive_pooling.calls.gen.h"
#include "ops/composite_helpers.h"
#include "ops/spatial_arguments.h"

#include <limits>
#include <numeric>

namespace lento::composite {

namespace {

/// The windows of one axis: their positions (windows, longest), which of those count, and each window's length.
struct AdaptiveWindows {
  Tensor positions;  // clipped to the axis, so that every gather is in range
  Tensor inside;     // false for what is beyond a window's end
  Tensor lengths;    // (windows, 1)
};

AdaptiveWindows adaptive_windows(std::int64_t length, std::int64_t windows, const Device& device) {
  // Window i is q = length / windows elements long, and one or two more where the rest r of that division is spread:
  // ceil(((i * r) % windows + r) / windows), whose first term takes every multiple of the common divisor.
  const std::int64_t rest = windows == 0 ? 0 : length % windows;
  const std::int64_t more = rest == 0 ? 0 : rest == std::gcd(length, windows) ? 1 : 2;
  const std::int64_t longest = windows == 0 ? 0 : length / windows + more;
  const Tensor starts = floor_divide(prim::iota(windows, 0, length, DType::int64, device), windows);
  const Tensor ends = floor_divide(prim::iota(windows, length + windows - 1, length, DType::int64, device), windows);
  const Tensor offsets = prim::iota(longest, 0, 1, DType::int64, device);
  const Tensor positions = add(reshaped(starts, Shape{windows, 1}), offsets);
  const Tensor limits = reshaped(ends, Shape{windows, 1});
  return {minimum(positions, length - 1), less(positions, limits),
          subtract(limits, reshaped(starts, Shape{windows, 1}))};
}

/// A (windows, m) tensor so shaped that it broadcasts over axes `axis` and `axis + 1`.
Tensor over_axis(const Tensor& x, std::size_t axis, std::size_t rank) {
  Shape shape(rank, 1);
  shape[axis] = x.shape()[0];
  shape[axis + 1] = x.shape()[1];
  return reshaped(x, shape);
}

Ints checked_output(const Tensor& batch, std::size_t axes, const Ints& output_size) {
  const Ints output = spatial(output_size, axes, "output_size");
  check_at_least(output, 0, "output_size");
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (batch.shape()[axis + 2] == 0)
      fail<ShapeError>("the spatial axes must not be empty, got shape {}", batch.shape());
  }
  return output;
}

Tensor adaptive_average(std::size_t axes, const Tensor& x, const Ints& output_size) {
  const auto [batch, added] = add_batch(x, axes);
  const Ints output = checked_output(batch, axes, output_size);
  Tensor result = widen(batch);
  for (std::size_t axis = 2; axis < axes + 2; ++axis) {
    const std::int64_t length = result.shape()[axis];
    const std::int64_t windows = output[axis - 2];
    if (length == windows) continue;
    const auto at = static_cast<std::int64_t>(axis);
    if (windows > 0 && length % windows == 0) {
      // Equal windows: a reshape is enough.
      Shape split(result.shape());
      split[axis] = windows;
      split.insert(axis + 1, length / windows);
      result = drop_axis(mean_kept(reshaped(result, split), Ints{at + 1}), at + 1);
      continue;
    }
    const AdaptiveWindows w = adaptive_windows(length, windows, x.device());
    const std::size_t rank = result.shape().size() + 1;
    const Tensor gathered = prim::take_axis(result, w.positions, at);
    const Tensor sums = sum_kept(where(over_axis(w.inside, axis, rank), gathered, 0), Ints{at + 1});
    result = drop_axis(divide(sums, over_axis(converted(w.lengths, result.dtype()), axis, rank)), at + 1);
  }
  return drop_batch(converted(result, x.dtype()), added);
}

Scalar lowest(DType dtype) {
  if (is_floating(dtype)) return -std::numeric_limits<double>::infinity();
  if (is_unsigned_integer(dtype)) return 0;
  return -(std::int64_t{1} << (8 * size_of(dtype) - 2)) * 2;
}

struct AdaptiveMax {
  Tensor values;
  Tensor indices;
};

/// Axis by axis from the last to the first; of equal elements the first in row-major order is found that way.
AdaptiveMax adaptive_maximum(std::size_t axes, const Tensor& x, const Ints& output_size) {
  const auto [batch, added] = add_batch(x, axes);
  const Ints output = checked_output(batch, axes, output_size);
  Tensor values = batch;
  const Shape space(batch.shape().begin() + 2, batch.shape().end());
  Shape one(axes + 2, 1);
  std::copy(space.begin(), space.end(), one.begin() + 2);
  const Tensor flat = prim::iota(element_count(space), 0, 1, DType::int64, x.device());
  Tensor indices = prim::broadcast_to(reshaped(flat, one), batch.shape());
  for (std::size_t axis = axes + 1; axis >= 2; --axis) {
    if (values.shape()[axis] == output[axis - 2]) continue;
    const auto at = static_cast<std::int64_t>(axis);
    const AdaptiveWindows w = adaptive_windows(values.shape()[axis], output[axis - 2], x.device());
    const Tensor gathered = prim::take_axis(values, w.positions, at);
    const Tensor inside = over_axis(w.inside, axis, values.shape().size() + 1);
    const Tensor best = prim::arg_max(where(inside, gathered, lowest(x.dtype())), at + 1, true);
    indices = drop_axis(prim::take_along_axis(prim::take_axis(indices, w.positions, at), best, at + 1), at + 1);
    values = drop_axis(prim::take_along_axis(gathered, best, at + 1), at + 1);
  }
  return {drop_batch(values, added), drop_batch(indices, added)};
}

}  // namespace

Tensor adaptive_avg_pool1d(const Tensor& x, const Ints& output_size) { return adaptive_average(1, x, output_size); }

Tensor adaptive_max_pool1d(const Tensor& x, const Ints& output_size) {
  return adaptive_maximum(1, x, output_size).values;
}

AdaptiveMaxPool1dWithIndicesResult adaptive_max_pool1d_with_indices(const Tensor& x, const Ints& output_size) {
  const AdaptiveMax pool = adaptive_maximum(1, x, output_size);
  return {pool.values, pool.indices};
}

Tensor adaptive_avg_pool2d(const Tensor& x, const Ints& output_size) { return adaptive_average(2, x, output_size); }

Tensor adaptive_max_pool2d(const Tensor& x, const Ints& output_size) {
  return adaptive_maximum(2, x, output_size).values;
}

AdaptiveMaxPool2dWithIndicesResult adaptive_max_pool2d_with_indices(const Tensor& x, const Ints& output_size) {
  const AdaptiveMax pool = adaptive_maximum(2, x, output_size);
  return {pool.values, pool.indices};
}

Tensor adaptive_avg_pool3d(const Tensor& x, const Ints& output_size) { return adaptive_average(3, x, output_size); }

Tensor adaptive_max_pool3d(const Tensor& x, const Ints& output_size) {
  return adaptive_maximum(3, x, output_size).values;
}

AdaptiveMaxPool3dWithIndicesResult adaptive_max_pool3d_with_indices(const Tensor& x, const Ints& output_size) {
  const AdaptiveMax pool = adaptive_maximum(3, x, output_size);
  return {pool.values, pool.indices};
}

}  // namespace lento::composite

// Padding, windows over an axis and strided reading (ops/manipulation.yaml).
#include "base/fail.h"
#include "ir/reach.h"
#include "ir/shape_limit.h"
#include "ops/composite_helpers.h"
#include "ops/windows.calls.gen.h"

#include <algorithm>
#include <optional>

namespace lento::composite {

namespace {

/// (before, after) of each axis from the forms that `pad` takes.
struct Padding {
  Ints low, high;
};

Padding padding_of(const Tensor& x, const Ints& widths) {
  const std::size_t rank = x.shape().size();
  Padding padding;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const bool each = widths.size() == 2 * rank;
    if (!each && widths.size() != 1 && widths.size() != 2) {
      fail<ValueError>("the padding of {} takes 1, 2 or {} numbers, got {}", type_of(x), 2 * rank, widths);
    }
    padding.low.push_back(each ? widths[2 * axis] : widths.front());
    padding.high.push_back(each ? widths[2 * axis + 1] : widths.back());
  }
  for (const std::int64_t width : widths) {
    if (width < 0) fail<ValueError>("padding cannot be negative, got {}", widths);
  }
  return padding;
}

/// Where the elements of a padded axis come from.
Tensor source_positions(std::int64_t extent, std::int64_t low, std::int64_t high, std::string_view mode,
                        Device device) {
  const Tensor position = prim::iota(extent + low + high, -low, 1, DType::int64, device);
  if (mode == "edge" || mode == "replicate") return minimum(maximum(position, 0), extent - 1);
  if (mode == "wrap" || mode == "circular") return remainder(position, extent);
  const bool symmetric = mode == "symmetric";
  if (!symmetric && extent == 1) return prim::full(position.shape(), 0, DType::int64, device);
  // Forwards and backwards once is a period.
  const std::int64_t period = symmetric ? 2 * extent : 2 * extent - 2;
  const Tensor phase = remainder(position, period);
  return minimum(phase, subtract(symmetric ? period - 1 : period, phase));
}

Tensor windows_along(const Tensor& x, std::int64_t axis, std::int64_t size, std::int64_t step) {
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
  if (size < 0 || step < 1)
    fail<ValueError>("a window needs a size of at least 0 and a step of at least 1, got {} and {}", size, step);
  if (size > extent) fail<ShapeError>("a window of {} elements is longer than axis {} of {}", size, axis, type_of(x));
  const std::int64_t count = (extent - size) / step + 1;
  // With the axis at the end, its windows are it read by two strides.
  const Tensor windows = prim::as_strided(move_axis(x, axis, x.rank() - 1), 0, Ints{count, size}, Ints{step, 1});
  return move_axis(windows, x.rank() - 1, axis);
}

}  // namespace

Tensor pad(const Tensor& x, const Ints& pad_width, std::string_view mode, const Scalar& constant_values) {
  const Padding padding = padding_of(x, pad_width);
  if (mode == "constant") {
    // The default 0 is false for bools.
    if (!is_bool(x.dtype())) require_storable(default_dtype(constant_values), x.dtype());
    return prim::pad_constant(x, constant_values, padding.low, padding.high);
  }
  Tensor result = x;
  for (std::size_t axis = 0; axis < x.shape().size(); ++axis) {
    const std::int64_t low = padding.low[axis];
    const std::int64_t high = padding.high[axis];
    if (low == 0 && high == 0) continue;
    const std::int64_t extent = x.shape()[axis];
    if (low > kMostElements || high > kMostElements) {
      fail<ShapeError>("padding axis {} of {} by {} and {} makes it too large", axis, type_of(x), low, high);
    }
    if (extent == 0)
      fail<ValueError>("axis {} of {} is empty: mode '{}' has nothing to pad with", axis, type_of(x), mode);
    result =
        prim::take_axis(result, source_positions(extent, low, high, mode, x.device()), static_cast<std::int64_t>(axis));
  }
  return result;
}

/// nn::pad: pairs for the last axes, the last one first.
Tensor pad(const Tensor& x, const Ints& pad, std::string_view mode, const std::optional<Scalar>& value) {
  const std::size_t rank = x.shape().size();
  if (pad.size() % 2 != 0 || pad.size() > 2 * rank)
    fail<ValueError>("the padding of {} has pairs (before, after) of at most {} axes, got {}", type_of(x), rank, pad);
  Ints widths(2 * rank, 0);
  for (std::size_t i = 0; i < pad.size(); i += 2) {
    widths[2 * rank - i - 2] = pad[i];
    widths[2 * rank - i - 1] = pad[i + 1];
  }
  return rank == 0 ? x : lento::pad(x, widths, mode, value.value_or(Scalar(0)));
}

Tensor unfold(const Tensor& x, std::int64_t axis, std::int64_t size, std::int64_t step) {
  return windows_along(x, axis_of(x, axis), size, step);
}

Tensor sliding_window_view(const Tensor& x, const Ints& window_shape, const std::optional<Ints>& axis) {
  const Ints axes = axis ? *axis : all_axes(x.rank());
  if (axes.size() != window_shape.size()) {
    fail<ValueError>("{} axes need windows of as many lengths, got {}", axes.size(), window_shape);
  }
  Tensor result = x;
  // An axis may be named twice, so that its windows have windows.
  for (std::size_t i = 0; i < axes.size(); ++i) result = windows_along(result, axis_of(x, axes[i]), window_shape[i], 1);
  return result;
}

Tensor as_strided(const Tensor& x, const Ints& shape, const Ints& strides, std::int64_t offset) {
  if (shape.size() != strides.size()) fail<ValueError>("shape {} and strides {} must have one length", shape, strides);
  for (const std::int64_t size : shape) {
    if (size < 0) fail<ValueError>("negative length {} in shape {}", size, shape);
  }
  const std::optional<Reach> reach = reach_of(shape, strides);
  if (!reach || !reach->fits(offset, x.size())) {
    fail<IndexError>("shape {} with strides {} and offset {} reaches outside of the {} elements of {}", shape, strides,
                     offset, x.size(), type_of(x));
  }
  return prim::as_strided(flat(x), offset, shape, strides);
}

}  // namespace lento::composite

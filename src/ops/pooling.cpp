// Pooling (ops/pooling.yaml) over the primitives max_window and sum_window: output lengths, ceil_mode, divisors.
// Adaptive pooling, whose windows differ in length, is in adaptive_pooling.cpp.
#include "base/fail.h"
#include "ir/shape_limit.h"
#include "ops/composite_helpers.h"
#include "ops/norms.h"
#include "ops/pooling.calls.gen.h"
#include "ops/spatial_arguments.h"

#include <cmath>

namespace lento::composite {

namespace {

/// The arguments of a window primitive, and what the divisors of averages need.
struct Windows {
  Tensor x;
  bool added_batch;
  Ints kernel;
  Ints stride;
  Ints low;
  Ints high;  // at least `low`; more where ceil_mode lets the last window reach out
  Ints dilation;
  Ints output;
};

Windows plan_windows(std::size_t axes, const Tensor& x, const Ints& kernel_size, const std::optional<Ints>& stride,
                     const Ints& padding, const Ints& dilation, bool ceil_mode) {
  auto [batch, added] = add_batch(x, axes);
  Windows w{batch,
            added,
            spatial(kernel_size, axes, "kernel_size"),
            {},
            spatial(padding, axes, "padding"),
            {},
            spatial(dilation, axes, "dilation"),
            Ints(axes, 0)};
  w.stride = stride && !stride->empty() ? spatial(*stride, axes, "stride") : w.kernel;
  check_at_least(w.kernel, 1, "kernel_size");
  check_at_least(w.stride, 1, "stride");
  check_at_least(w.low, 0, "padding");
  check_at_least(w.dilation, 1, "dilation");
  w.high = w.low;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t length = batch.shape()[axis + 2];
    const std::int64_t reach = w.dilation[axis] * (w.kernel[axis] - 1) + 1;
    if (2 * w.low[axis] > reach) fail<ValueError>("padding {} is more than half of kernel_size {}", w.low, w.kernel);
    const std::int64_t room = length + 2 * w.low[axis] - reach;
    if (room < 0) {
      fail<ShapeError>("a window of length {} does not fit into axis {} of shape {} with padding {}", reach, axis + 2,
                       batch.shape(), w.low[axis]);
    }
    std::int64_t count = room / w.stride[axis] + 1;
    if (ceil_mode && room % w.stride[axis] != 0) {
      // One more window, unless it would start behind the input and its leading padding.
      if (count * w.stride[axis] < length + w.low[axis]) {
        w.high[axis] = count * w.stride[axis] + reach - length - w.low[axis];
        ++count;
      }
    }
    w.output[axis] = count;
  }
  return w;
}

/// How many elements each window has along one axis, as floats that broadcast over the result.
Tensor counts_along(const Windows& w, std::size_t axis, bool include_padding) {
  const std::int64_t length = w.x.shape()[axis + 2];
  const std::int64_t pad = w.low[axis];
  const Tensor starts = prim::iota(w.output[axis], -pad, w.stride[axis], DType::int64, w.x.device());
  const Tensor ends = minimum(add(starts, w.kernel[axis]), include_padding ? length + pad : length);
  const Tensor counts = subtract(ends, include_padding ? starts : maximum(starts, 0));
  return along(converted(counts, wide_type(w.x.dtype())), static_cast<std::int64_t>(axis) + 2, w.x.rank());
}

/// True when every window along the axis has as many elements as the kernel.
bool windows_are_full(const Windows& w, std::size_t axis, bool include_padding) {
  const std::int64_t limit = w.x.shape()[axis + 2] + (include_padding ? w.low[axis] : 0);
  const std::int64_t last_end = (w.output[axis] - 1) * w.stride[axis] - w.low[axis] + w.kernel[axis];
  return last_end <= limit && (include_padding || w.low[axis] == 0);
}

Tensor window_sums(const Windows& w, const Tensor& x) {
  return prim::sum_window(x, w.kernel, w.stride, w.low, w.high, w.dilation);
}

Tensor average(std::size_t axes, const Tensor& x, const Ints& kernel_size, const std::optional<Ints>& stride,
               const Ints& padding, bool ceil_mode, bool count_include_pad, const std::optional<Scalar>& divisor) {
  const Windows w = plan_windows(axes, x, kernel_size, stride, padding, Ints{1}, ceil_mode);
  Tensor result = window_sums(w, widen(w.x));
  if (divisor) {
    if (divisor->to<double>() == 0) fail<ValueError>("divisor_override must not be 0");
    result = divide(result, *divisor);
  } else {
    std::int64_t full = 1;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      if (windows_are_full(w, axis, count_include_pad)) {
        full *= w.kernel[axis];
      } else {
        result = divide(result, counts_along(w, axis, count_include_pad));
      }
    }
    if (full != 1) result = divide(result, static_cast<double>(full));
  }
  return drop_batch(converted(result, x.dtype()), w.added_batch);
}

Tensor power_average(std::size_t axes, const Tensor& x, const Scalar& norm_type, const Ints& kernel_size,
                     const std::optional<Ints>& stride, bool ceil_mode) {
  const double p = norm_type.to<double>();
  if (!(p > 0) || std::isinf(p)) fail<ValueError>("norm_type must be positive and finite, got {}", norm_type);
  const Windows w = plan_windows(axes, x, kernel_size, stride, Ints{0}, Ints{1}, ceil_mode);
  Tensor sums = window_sums(w, lento::pow(widen(w.x), norm_type));
  // Windows that ceil_mode lets reach out are scaled up to the size of the kernel.
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (windows_are_full(w, axis, true)) continue;
    sums = multiply(divide(sums, counts_along(w, axis, true)), static_cast<double>(w.kernel[axis]));
  }
  return drop_batch(converted(root_of(sums, p), x.dtype()), w.added_batch);
}

struct MaxPool {
  Tensor values;
  Tensor indices;
};

MaxPool maximal(std::size_t axes, const Tensor& x, const Ints& kernel_size, const std::optional<Ints>& stride,
                const Ints& padding, const Ints& dilation, bool ceil_mode) {
  const Windows w = plan_windows(axes, x, kernel_size, stride, padding, dilation, ceil_mode);
  const auto result = prim::max_window(w.x, w.kernel, w.stride, w.low, w.high, w.dilation);
  return {drop_batch(result.values, w.added_batch), drop_batch(result.indices, w.added_batch)};
}

Tensor unpool(std::size_t axes, const Tensor& x, const Tensor& indices, const Ints& kernel_size,
              const std::optional<Ints>& stride, const Ints& padding, const std::optional<Ints>& output_size) {
  if (indices.shape() != x.shape()) {
    fail<ShapeError>("indices have shape {}, but the input has shape {}", indices.shape(), x.shape());
  }
  if (!is_integer(indices.dtype())) fail<DTypeError>("indices must be integers, got {}", indices.dtype());
  const auto [batch, added] = add_batch(x, axes);
  const Ints kernel = spatial(kernel_size, axes, "kernel_size");
  const Ints strides = stride && !stride->empty() ? spatial(*stride, axes, "stride") : kernel;
  const Ints pads = spatial(padding, axes, "padding");
  Shape space;
  if (output_size && !output_size->empty()) {
    // The whole shape may be given too; only its spatial part counts.
    if (output_size->size() < axes) fail<ShapeError>("output_size {} must have {} values", *output_size, axes);
    space = Shape(output_size->end() - axes, output_size->end());
  } else {
    for (std::size_t axis = 0; axis < axes; ++axis) {
      space.push_back((batch.shape()[axis + 2] - 1) * strides[axis] - 2 * pads[axis] + kernel[axis]);
    }
  }
  check_at_least(space, 0, "output_size");
  const std::int64_t samples = batch.shape()[0];
  const std::int64_t channels = batch.shape()[1];
  const std::int64_t windows = element_count(Shape(batch.shape().begin() + 2, batch.shape().end()));
  const Tensor zeros = prim::full(Shape{samples, channels, counted(space)}, 0, x.dtype(), x.device());
  const Shape flat{samples, channels, windows};
  const Tensor put = prim::scatter_axis(zeros, reshaped(indices, flat), reshaped(batch, flat), 2, "set");
  Shape shape{samples, channels};
  shape.append(space);
  return drop_batch(reshaped(put, shape), added);
}

}  // namespace

Tensor max_pool1d(const Tensor& x, const Ints& kernel_size, const std::optional<Ints>& stride, const Ints& padding,
                  const Ints& dilation, bool ceil_mode) {
  return maximal(1, x, kernel_size, stride, padding, dilation, ceil_mode).values;
}

MaxPool1dWithIndicesResult max_pool1d_with_indices(const Tensor& x, const Ints& kernel_size,
                                                   const std::optional<Ints>& stride, const Ints& padding,
                                                   const Ints& dilation, bool ceil_mode) {
  const MaxPool pool = maximal(1, x, kernel_size, stride, padding, dilation, ceil_mode);
  return {pool.values, pool.indices};
}

Tensor avg_pool1d(const Tensor& x, const Ints& kernel_size, const std::optional<Ints>& stride, const Ints& padding,
                  bool ceil_mode, bool count_include_pad) {
  return average(1, x, kernel_size, stride, padding, ceil_mode, count_include_pad, std::nullopt);
}

Tensor lp_pool1d(const Tensor& x, const Scalar& norm_type, const Ints& kernel_size, const std::optional<Ints>& stride,
                 bool ceil_mode) {
  return power_average(1, x, norm_type, kernel_size, stride, ceil_mode);
}

Tensor max_unpool1d(const Tensor& x, const Tensor& indices, const Ints& kernel_size, const std::optional<Ints>& stride,
                    const Ints& padding, const std::optional<Ints>& output_size) {
  return unpool(1, x, indices, kernel_size, stride, padding, output_size);
}
Tensor max_pool2d(const Tensor& x, const Ints& kernel_size, const std::optional<Ints>& stride, const Ints& padding,
                  const Ints& dilation, bool ceil_mode) {
  return maximal(2, x, kernel_size, stride, padding, dilation, ceil_mode).values;
}

MaxPool2dWithIndicesResult max_pool2d_with_indices(const Tensor& x, const Ints& kernel_size,
                                                   const std::optional<Ints>& stride, const Ints& padding,
                                                   const Ints& dilation, bool ceil_mode) {
  const MaxPool pool = maximal(2, x, kernel_size, stride, padding, dilation, ceil_mode);
  return {pool.values, pool.indices};
}

Tensor avg_pool2d(const Tensor& x, const Ints& kernel_size, const std::optional<Ints>& stride, const Ints& padding,
                  bool ceil_mode, bool count_include_pad, const std::optional<Scalar>& divisor_override) {
  return average(2, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
}

Tensor lp_pool2d(const Tensor& x, const Scalar& norm_type, const Ints& kernel_size, const std::optional<Ints>& stride,
                 bool ceil_mode) {
  return power_average(2, x, norm_type, kernel_size, stride, ceil_mode);
}

Tensor max_unpool2d(const Tensor& x, const Tensor& indices, const Ints& kernel_size, const std::optional<Ints>& stride,
                    const Ints& padding, const std::optional<Ints>& output_size) {
  return unpool(2, x, indices, kernel_size, stride, padding, output_size);
}
Tensor max_pool3d(const Tensor& x, const Ints& kernel_size, const std::optional<Ints>& stride, const Ints& padding,
                  const Ints& dilation, bool ceil_mode) {
  return maximal(3, x, kernel_size, stride, padding, dilation, ceil_mode).values;
}

MaxPool3dWithIndicesResult max_pool3d_with_indices(const Tensor& x, const Ints& kernel_size,
                                                   const std::optional<Ints>& stride, const Ints& padding,
                                                   const Ints& dilation, bool ceil_mode) {
  const MaxPool pool = maximal(3, x, kernel_size, stride, padding, dilation, ceil_mode);
  return {pool.values, pool.indices};
}

Tensor avg_pool3d(const Tensor& x, const Ints& kernel_size, const std::optional<Ints>& stride, const Ints& padding,
                  bool ceil_mode, bool count_include_pad, const std::optional<Scalar>& divisor_override) {
  return average(3, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
}

Tensor lp_pool3d(const Tensor& x, const Scalar& norm_type, const Ints& kernel_size, const std::optional<Ints>& stride,
                 bool ceil_mode) {
  return power_average(3, x, norm_type, kernel_size, stride, ceil_mode);
}

Tensor max_unpool3d(const Tensor& x, const Tensor& indices, const Ints& kernel_size, const std::optional<Ints>& stride,
                    const Ints& padding, const std::optional<Ints>& output_size) {
  return unpool(3, x, indices, kernel_size, stride, padding, output_size);
}

}  // namespace lento::composite

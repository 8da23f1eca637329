// Linear maps and convolutions (ops/convolution.yaml): checks, unbatched inputs, padding rules and bias around the
// primitives matrix_multiply, convolution and convolution_input_grad.
#include "base/fail.h"
#include "ir/shape_limit.h"
#include "ops/composite_helpers.h"
#include "ops/convolution.calls.gen.h"
#include "ops/spatial_arguments.h"

namespace lento::composite {

namespace {

/// Adds a bias with one value an output channel (axis 1).
Tensor add_channel_bias(const Tensor& x, const std::optional<Tensor>& bias) {
  if (!bias) return x;
  if (bias->shape() != Shape{x.shape()[1]}) {
    fail<ShapeError>("bias has shape {}, but there are {} output channels", bias->shape(), x.shape()[1]);
  }
  return add(x, along(converted(*bias, x.dtype()), 1, x.rank()));
}

void check_weight(const Tensor& weight, std::size_t axes) {
  if (weight.shape().size() != axes + 2) {
    fail<ShapeError>("the weight must have {} axes, got shape {}", axes + 2, weight.shape());
  }
}

void check_groups(std::int64_t groups, std::int64_t channels, std::string_view what) {
  if (groups < 1 || channels % groups != 0) {
    fail<ValueError>("{} {} cannot be divided into {} groups", channels, what, groups);
  }
}

struct Padding {
  Ints low;
  Ints high;
};

/// The zeros before and after each spatial axis. "same" keeps lengths: an odd total has its extra zero at the end.
Padding resolve_padding(const Ints& padding, std::string_view automatic, const Tensor& weight, const Ints& stride,
                        const Ints& dilation) {
  const std::size_t axes = stride.size();
  Ints low = spatial(padding, axes, "padding");
  check_at_least(low, 0, "padding");
  if (automatic == "none") return {low, low};
  if (low != Ints(axes, 0)) fail<ValueError>("padding {} and auto_padding '{}' exclude each other", low, automatic);
  if (automatic == "valid") return {low, low};
  if (automatic != "same") fail<ValueError>("auto_padding must be 'none', 'same' or 'valid', got '{}'", automatic);
  if (stride != Ints(axes, 1)) fail<ValueError>("auto_padding 'same' needs stride 1, got {}", stride);
  Ints high(axes, 0);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t total = dilation[axis] * (weight.shape()[axis + 2] - 1);
    low[axis] = total / 2;
    high[axis] = total - total / 2;
  }
  return {low, high};
}

Tensor convolve(std::size_t axes, const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                const Ints& stride, const Ints& padding, const Ints& dilation, std::int64_t groups,
                std::string_view auto_padding) {
  const auto [batch, added] = add_batch(x, axes);
  check_weight(weight, axes);
  const Ints strides = spatial(stride, axes, "stride");
  const Ints dilations = spatial(dilation, axes, "dilation");
  check_at_least(strides, 1, "stride");
  check_at_least(dilations, 1, "dilation");
  check_groups(groups, batch.shape()[1], "channels");
  check_groups(groups, weight.shape()[0], "output channels");
  const std::int64_t expected = counted(Shape{weight.shape()[1], groups});
  if (expected != batch.shape()[1]) {
    fail<ShapeError>("the input of shape {} has {} channels, but the weight of shape {} expects {} in {} groups",
                     x.shape(), batch.shape()[1], weight.shape(), expected, groups);
  }
  const Padding pads = resolve_padding(padding, auto_padding, weight, strides, dilations);
  const Tensor result = prim::convolution(batch, weight, strides, pads.low, pads.high, dilations, groups);
  return drop_batch(add_channel_bias(result, bias), added);
}

Tensor convolve_transposed(std::size_t axes, const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                           const Ints& stride, const Ints& padding, const Ints& output_padding, std::int64_t groups,
                           const Ints& dilation) {
  const auto [batch, added] = add_batch(x, axes);
  check_weight(weight, axes);
  const Ints strides = spatial(stride, axes, "stride");
  const Ints pads = spatial(padding, axes, "padding");
  const Ints extra = spatial(output_padding, axes, "output_padding");
  const Ints dilations = spatial(dilation, axes, "dilation");
  check_at_least(strides, 1, "stride");
  check_at_least(pads, 0, "padding");
  check_at_least(extra, 0, "output_padding");
  check_at_least(dilations, 1, "dilation");
  check_groups(groups, batch.shape()[1], "channels");
  if (weight.shape()[0] != batch.shape()[1]) {
    fail<ShapeError>("the input of shape {} has {} channels, but the weight of shape {} expects {}", x.shape(),
                     batch.shape()[1], weight.shape(), weight.shape()[0]);
  }
  Ints size(axes, 0);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (extra[axis] >= std::max(strides[axis], dilations[axis])) {
      fail<ValueError>("output_padding {} must be smaller than stride {} or dilation {}", extra, strides, dilations);
    }
    size[axis] = (batch.shape()[axis + 2] - 1) * strides[axis] - 2 * pads[axis] +
                 dilations[axis] * (weight.shape()[axis + 2] - 1) + extra[axis] + 1;
    if (size[axis] < 1) fail<ShapeError>("the output would have spatial length {} along axis {}", size[axis], axis);
  }
  const Tensor result = prim::convolution_input_grad(batch, weight, size, strides, pads, pads, dilations, groups);
  return drop_batch(add_channel_bias(result, bias), added);
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
  const std::size_t outputs = weight.shape().size();
  if (x.shape().empty()) fail<ShapeError>("the input must have at least one axis, got shape {}", x.shape());
  if (outputs != 1 && outputs != 2) fail<ShapeError>("the weight must have 1 or 2 axes, got shape {}", weight.shape());
  if (x.shape().back() != weight.shape().back()) {
    fail<ShapeError>("the input of shape {} has {} features, but the weight of shape {} expects {}", x.shape(),
                     x.shape().back(), weight.shape(), weight.shape().back());
  }
  // A matrix is multiplied as one, however many axes the input has: (rows, in) @ (in, out).
  const Shape lead(x.shape().begin(), x.shape().end() - 1);
  const std::int64_t features = weight.shape().back();
  const Tensor rows = reshaped(x, Shape{element_count(lead), features});
  const Tensor columns = outputs == 2 ? swap_last(weight) : reshaped(weight, Shape{features, 1});
  Shape shape = lead;
  if (outputs == 2) shape.push_back(weight.shape()[0]);
  Tensor result = reshaped(prim::matrix_multiply(rows, columns), shape);
  if (!bias) return result;
  const Shape expected = outputs == 2 ? Shape{weight.shape()[0]} : Shape{};
  if (bias->shape() != expected) fail<ShapeError>("bias has shape {}, expected {}", bias->shape(), expected);
  return add(result, converted(*bias, result.dtype()));
}

Tensor bilinear(const Tensor& x1, const Tensor& x2, const Tensor& weight, const std::optional<Tensor>& bias) {
  if (weight.shape().size() != 3) fail<ShapeError>("the weight must have 3 axes, got shape {}", weight.shape());
  const auto lead_of = [](const Tensor& x) {
    if (x.shape().empty()) fail<ShapeError>("the inputs must have at least one axis");
    return Shape(x.shape().begin(), x.shape().end() - 1);
  };
  const Shape lead = lead_of(x1);
  const std::int64_t outputs = weight.shape()[0];
  const std::int64_t left = weight.shape()[1];
  const std::int64_t right = weight.shape()[2];
  if (lead != lead_of(x2) || x1.shape().back() != left || x2.shape().back() != right) {
    fail<ShapeError>("inputs of shape {} and {} do not fit the weight of shape {}", x1.shape(), x2.shape(),
                     weight.shape());
  }
  const std::int64_t rows = element_count(lead);
  // (rows, left) @ (left, outputs * right) first, then each row's (outputs, right) times its vector of x2.
  const Tensor flat = reshaped(prim::permute_dims(weight, Ints{1, 0, 2}), Shape{left, outputs * right});
  const Tensor half =
      reshaped(prim::matrix_multiply(reshaped(x1, Shape{rows, left}), flat), Shape{rows, outputs, right});
  Shape shape = lead;
  shape.push_back(outputs);
  Tensor result = reshaped(prim::matrix_multiply(half, reshaped(x2, Shape{rows, right, 1})), shape);
  if (!bias) return result;
  if (bias->shape() != Shape{outputs}) fail<ShapeError>("bias has shape {}, expected ({},)", bias->shape(), outputs);
  return add(result, converted(*bias, result.dtype()));
}

Tensor conv1d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const Ints& stride,
              const Ints& padding, const Ints& dilation, std::int64_t groups, std::string_view auto_padding) {
  return convolve(1, x, weight, bias, stride, padding, dilation, groups, auto_padding);
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const Ints& stride,
              const Ints& padding, const Ints& dilation, std::int64_t groups, std::string_view auto_padding) {
  return convolve(2, x, weight, bias, stride, padding, dilation, groups, auto_padding);
}

Tensor conv3d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const Ints& stride,
              const Ints& padding, const Ints& dilation, std::int64_t groups, std::string_view auto_padding) {
  return convolve(3, x, weight, bias, stride, padding, dilation, groups, auto_padding);
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const Ints& stride,
                        const Ints& padding, const Ints& output_padding, std::int64_t groups, const Ints& dilation) {
  return convolve_transposed(1, x, weight, bias, stride, padding, output_padding, groups, dilation);
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const Ints& stride,
                        const Ints& padding, const Ints& output_padding, std::int64_t groups, const Ints& dilation) {
  return convolve_transposed(2, x, weight, bias, stride, padding, output_padding, groups, dilation);
}

Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const Ints& stride,
                        const Ints& padding, const Ints& output_padding, std::int64_t groups, const Ints& dilation) {
  return convolve_transposed(3, x, weight, bias, stride, padding, output_padding, groups, dilation);
}

}  // namespace lento::composite

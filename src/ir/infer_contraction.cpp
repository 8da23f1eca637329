// Shapes and dtypes of matrix products and convolutions.
#include "base/fail.h"
#include "ir/attrs_contraction.gen.h"
#include "ir/infer_contraction.gen.h"
#include "ir/infer_sliding.h"
#include "ir/shape_limit.h"

namespace lento {

namespace {

/// Checks channels against groups: `channels` of x (N, C, …) and the two leading extents (O, C / groups) of a weight.
void require_channels(std::int64_t channels, std::int64_t out_channels, std::int64_t group_channels,
                      std::int64_t groups) {
  if (groups < 1) fail<ValueError>("groups must be at least 1, got {}", groups);
  if (group_channels != channels / groups || channels % groups != 0) {
    fail<ShapeError>("the weight takes {} channels a group and there are {} groups, but the input has {} channels",
                     group_channels, groups, channels);
  }
  if (out_channels % groups != 0)
    fail<ShapeError>("{} output channels do not divide into {} groups", out_channels, groups);
}

/// Throws unless both have the same number of axes, a batch axis, a channel axis and spatial axes.
void require_matching_rank(const Meta& a, std::string_view what_a, const Meta& b, std::string_view what_b) {
  require_spatial(a, what_a);
  if (a.shape.size() != b.shape.size()) {
    fail<ShapeError>("{} and {} must have the same number of axes, got {} and {}", what_a, what_b, type_text(a),
                     type_text(b));
  }
}

/// Throws unless grad_output's spatial extents are at most those of the forward result.
void require_within(const Meta& grad, const Ints& positions) {
  for (std::size_t axis = 0; axis < positions.size(); ++axis) {
    if (grad.shape[2 + axis] > positions[axis]) {
      fail<ShapeError>("grad_output {} is larger than the result {} of the convolution", type_text(grad), positions);
    }
  }
}

}  // namespace

Meta infer_matrix_multiply(const Meta& x1, const Meta& x2) {
  require_same_dtype(x1, "x1", x2, "x2");
  if (x1.shape.size() < 2 || x2.shape.size() < 2) {
    fail<ShapeError>("both operands must have at least two axes, got {} @ {}", x1.shape, x2.shape);
  }
  const std::size_t batch1 = x1.shape.size() - 2;
  const std::size_t batch2 = x2.shape.size() - 2;
  if (x1.shape[batch1 + 1] != x2.shape[batch2])
    fail<ShapeError>("inner dimensions differ: {} @ {}", x1.shape, x2.shape);
  const Meta batches[] = {{x1.dtype, Shape(x1.shape.begin(), x1.shape.begin() + batch1)},
                          {x2.dtype, Shape(x2.shape.begin(), x2.shape.begin() + batch2)}};
  Shape shape = broadcast_all(batches);
  shape.push_back(x1.shape[batch1]);
  shape.push_back(x2.shape[batch2 + 1]);
  return {x1.dtype, shape};
}

Meta infer_convolution(const Meta& x, const Meta& weight, ConvolutionAttrs& attrs) {
  require_same_dtype(x, "x", weight, "weight");
  require_matching_rank(x, "x", weight, "weight");
  require_channels(x.shape[1], weight.shape[0], weight.shape[1], attrs.groups);
  const Ints kernel = spatial_extents(weight);
  const Sliding sliding{kernel, attrs.stride, attrs.padding_low, attrs.padding_high, attrs.dilation};
  Shape shape{x.shape[0], weight.shape[0]};
  shape.append(window_positions(spatial_extents(x), sliding));
  return {x.dtype, shape};
}

Meta infer_convolution_input_grad(const Meta& grad_output, const Meta& weight, ConvolutionInputGradAttrs& attrs) {
  require_same_dtype(grad_output, "grad_output", weight, "weight");
  require_matching_rank(grad_output, "grad_output", weight, "weight");
  if (attrs.input_size.size() != weight.shape.size() - 2) {
    fail<ValueError>("input_size needs one entry for each of {} spatial axes, got {}", weight.shape.size() - 2,
                     attrs.input_size);
  }
  if (attrs.groups < 1) fail<ValueError>("groups must be at least 1, got {}", attrs.groups);
  if (grad_output.shape[1] != weight.shape[0]) {
    fail<ShapeError>("grad_output has {} channels, but the weight makes {}", grad_output.shape[1], weight.shape[0]);
  }
  const std::int64_t channels = counted(Shape{weight.shape[1], attrs.groups});
  require_channels(channels, weight.shape[0], weight.shape[1], attrs.groups);
  const Ints kernel = spatial_extents(weight);
  const Sliding sliding{kernel, attrs.stride, attrs.padding_low, attrs.padding_high, attrs.dilation};
  require_within(grad_output, window_positions(attrs.input_size, sliding));
  Shape shape{grad_output.shape[0], channels};
  shape.append(attrs.input_size);
  return {grad_output.dtype, shape};
}

Meta infer_convolution_weight_grad(const Meta& grad_output, const Meta& x, ConvolutionWeightGradAttrs& attrs) {
  require_same_dtype(grad_output, "grad_output", x, "x");
  require_matching_rank(grad_output, "grad_output", x, "x");
  if (grad_output.shape[0] != x.shape[0]) {
    fail<ShapeError>("grad_output and x have different batches: {} and {}", type_text(grad_output), type_text(x));
  }
  if (attrs.groups < 1) fail<ValueError>("groups must be at least 1, got {}", attrs.groups);
  require_channels(x.shape[1], grad_output.shape[1], x.shape[1] / attrs.groups, attrs.groups);
  const Sliding sliding{attrs.kernel_size, attrs.stride, attrs.padding_low, attrs.padding_high, attrs.dilation};
  require_within(grad_output, window_positions(spatial_extents(x), sliding));
  Shape shape{grad_output.shape[1], x.shape[1] / attrs.groups};
  shape.append(attrs.kernel_size);
  return {x.dtype, shape};
}

}  // namespace lento

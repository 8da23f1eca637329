// Rearranging images: pixel and channel shuffles, unfold (im2col) and fold (ops/upsampling.yaml).
#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/rearranging.calls.gen.h"
#include "ops/spatial_arguments.h"

#include <limits>

namespace lento::composite {

namespace {

void check_image(const Tensor& x, std::size_t least) {
  if (x.shape().size() < least)
    fail<ShapeError>("the input must have at least {} axes, got shape {}", least, x.shape());
}

void check_factor(std::int64_t factor, std::string_view what) {
  if (factor < 1) fail<ValueError>("{} must be at least 1, got {}", what, factor);
  // Its square is counted in 64 bits.
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  if (factor > kLargest) fail<ValueError>("{} must be at most {}, got {}", what, kLargest, factor);
}

/// The axes before the last three, then `tail`.
Shape with_tail(const Tensor& x, const Shape& tail) {
  Shape shape(x.shape().begin(), x.shape().end() - 3);
  shape.append(tail);
  return shape;
}

/// `tail` (positions counted from the third last axis) moved behind the untouched leading axes.
Tensor permute_tail(const Tensor& x, const Ints& tail) {
  const std::size_t lead = x.shape().size() - tail.size();
  Ints axes = axes_from(0, lead);
  for (const std::int64_t axis : tail) axes.push_back(axis + static_cast<std::int64_t>(lead));
  return prim::permute_dims(x, axes);
}

/// One spatial axis of a sliding block.
struct Block {
  std::int64_t kernel;
  std::int64_t dilation;
  std::int64_t padding;
  std::int64_t stride;
  std::int64_t count;  // positions of the block

  /// The padded positions (kernel, count) that the block reads.
  Tensor positions(const Device& device) const {
    const Tensor inner = prim::iota(kernel, 0, dilation, DType::int64, device);
    const Tensor outer = prim::iota(count, 0, stride, DType::int64, device);
    return add(reshaped(inner, Shape{kernel, 1}), outer);
  }
};

std::array<Block, 2> plan_blocks(const Ints& lengths, const Ints& kernel_size, const Ints& dilation,
                                 const Ints& padding, const Ints& stride) {
  const Ints kernel = spatial(kernel_size, 2, "kernel_size");
  const Ints dilations = spatial(dilation, 2, "dilation");
  const Ints pads = spatial(padding, 2, "padding");
  const Ints strides = spatial(stride, 2, "stride");
  check_at_least(kernel, 1, "kernel_size");
  check_at_least(dilations, 1, "dilation");
  check_at_least(pads, 0, "padding");
  check_at_least(strides, 1, "stride");
  std::array<Block, 2> blocks{};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t room = lengths[axis] + 2 * pads[axis] - dilations[axis] * (kernel[axis] - 1) - 1;
    if (room < 0) {
      fail<ShapeError>("a block of {} with dilation {} does not fit into {} with padding {}", kernel, dilations,
                       lengths, pads);
    }
    blocks[axis] = {kernel[axis], dilations[axis], pads[axis], strides[axis], room / strides[axis] + 1};
  }
  return blocks;
}

}  // namespace

Tensor pixel_shuffle(const Tensor& x, std::int64_t upscale_factor) {
  check_image(x, 3);
  check_factor(upscale_factor, "upscale_factor");
  const std::int64_t r = upscale_factor;
  const std::size_t rank = x.shape().size();
  const std::int64_t channels = x.shape()[rank - 3];
  const std::int64_t height = x.shape()[rank - 2];
  const std::int64_t width = x.shape()[rank - 1];
  if (channels % (r * r) != 0) {
    fail<ShapeError>("{} channels of shape {} cannot be divided by upscale_factor squared, {}", channels, x.shape(),
                     r * r);
  }
  const std::int64_t kept = channels / (r * r);
  const Tensor split = reshaped(x, with_tail(x, Shape{kept, r, r, height, width}));
  return reshaped(permute_tail(split, Ints{0, 3, 1, 4, 2}), with_tail(x, Shape{kept, height * r, width * r}));
}

Tensor pixel_unshuffle(const Tensor& x, std::int64_t downscale_factor) {
  check_image(x, 3);
  check_factor(downscale_factor, "downscale_factor");
  const std::int64_t r = downscale_factor;
  const std::size_t rank = x.shape().size();
  const std::int64_t channels = x.shape()[rank - 3];
  const std::int64_t height = x.shape()[rank - 2];
  const std::int64_t width = x.shape()[rank - 1];
  if (height % r != 0 || width % r != 0) {
    fail<ShapeError>("height and width of shape {} cannot be divided by downscale_factor {}", x.shape(), r);
  }
  const Tensor split = reshaped(x, with_tail(x, Shape{channels, height / r, r, width / r, r}));
  return reshaped(permute_tail(split, Ints{0, 2, 4, 1, 3}),
                  with_tail(x, Shape{channels * r * r, height / r, width / r}));
}

Tensor channel_shuffle(const Tensor& x, std::int64_t groups) {
  check_image(x, 2);
  const std::int64_t channels = x.shape()[1];
  if (groups < 1 || channels % groups != 0)
    fail<ValueError>("{} channels cannot be divided into {} groups", channels, groups);
  Shape split(x.shape());
  split[1] = groups;
  split.insert(2, channels / groups);
  Ints axes = axes_from(0, split.size());
  std::swap(axes[1], axes[2]);
  return reshaped(prim::permute_dims(reshaped(x, split), axes), x.shape());
}

Tensor unfold(const Tensor& x, const Ints& kernel_size, const Ints& dilation, const Ints& padding, const Ints& stride) {
  const auto [batch, added] = add_batch(x, 2);
  const auto [rows, columns] =
      plan_blocks(Ints{batch.shape()[2], batch.shape()[3]}, kernel_size, dilation, padding, stride);
  const std::int64_t samples = batch.shape()[0];
  const std::int64_t channels = batch.shape()[1];
  const Ints pads{0, 0, rows.padding, columns.padding};
  const Tensor padded = pads == Ints(4, 0) ? batch : prim::pad_constant(batch, 0, pads, pads);
  // (samples, channels, kernel, positions) for the rows first, then the columns behind it.
  const Tensor taken =
      prim::take_axis(prim::take_axis(padded, columns.positions(x.device()), 3), rows.positions(x.device()), 2);
  const Tensor ordered = prim::permute_dims(taken, Ints{0, 1, 2, 4, 3, 5});
  const Shape shape{samples, channels * rows.kernel * columns.kernel, rows.count * columns.count};
  return drop_batch(reshaped(ordered, shape), added);
}

Tensor fold(const Tensor& x, const Ints& output_size, const Ints& kernel_size, const Ints& dilation,
            const Ints& padding, const Ints& stride) {
  const auto [batch, added] = add_batch(x, 1);
  const Ints output = spatial(output_size, 2, "output_size");
  check_at_least(output, 1, "output_size");
  const auto [rows, columns] = plan_blocks(output, kernel_size, dilation, padding, stride);
  const std::int64_t samples = batch.shape()[0];
  const std::int64_t elements = rows.kernel * columns.kernel;
  if (batch.shape()[1] % elements != 0 || batch.shape()[2] != rows.count * columns.count) {
    fail<ShapeError>("an input of shape {} does not fit: expected a multiple of {} rows and {} columns", x.shape(),
                     elements, rows.count * columns.count);
  }
  const std::int64_t channels = batch.shape()[1] / elements;
  const Shape split{samples, channels, rows.kernel, columns.kernel, rows.count, columns.count};
  // Scattering works on leading axes: (kernel, count) of the rows, those of the columns, then samples and channels.
  const Tensor values = prim::permute_dims(reshaped(batch, split), Ints{2, 4, 3, 5, 0, 1});
  const Tensor row_positions = reshaped(rows.positions(x.device()), Shape{rows.kernel, rows.count, 1, 1});
  const Tensor column_positions = columns.positions(x.device());
  const Shape padded{output[0] + 2 * rows.padding, output[1] + 2 * columns.padding, samples, channels};
  const Tensor zeros = prim::full(padded, 0, x.dtype(), x.device());
  const Tensor sums = prim::scatter_nd(zeros, values, {row_positions, column_positions}, "add");
  const Tensor inner =
      prim::strided_slice(sums, {Scalar(rows.padding), Scalar(columns.padding)}, Ints{0, 1}, output, Ints{1, 1});
  return drop_batch(prim::permute_dims(inner, Ints{2, 3, 0, 1}), added);
}

}  // namespace lento::composite

#include "backends/cpu/libraries/conv.h"

#include "backends/cpu/arena.h"
#include "backends/cpu/divide_up.h"
#include "backends/cpu/libraries/convert_half.h"
#include "backends/cpu/libraries/prepared_weights.h"
#include "backends/cpu/threads.h"

#include <algorithm>
#include <cstring>

namespace lento::cpu {

namespace {

// A piece is worth this many products, some 20 µs, and there are not many more pieces than this.
constexpr std::int64_t kPieceProducts = std::int64_t{1} << 20;
constexpr std::int64_t kPieces = 16;
// Slices have at least this many channels: what oneDNN's kernels keep in registers, several times.
constexpr std::int64_t kSliceChannels = 64;
// With fewer products an element, bringing operands into oneDNN's order costs more than it gains.
constexpr std::int64_t kReorderedProducts = 64;
// A piece of a weight's gradient has this many products for each element that is added afterwards.
constexpr std::int64_t kSumProducts = 512;
constexpr std::int64_t kConvertGrain = 1 << 15;
constexpr std::size_t kMostSpatialAxes = 3;

Ints contiguous_strides(const Ints& dims) {
  Ints strides(dims.size(), 1);
  for (std::size_t axis = dims.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * dims[axis];
  return strides;
}

std::int64_t spatial_size(const Shape& shape) { return element_count(shape.span().subspan(2)); }

/// A range of the channels of (N, C, *S).
OperandLayout channel_range(const Shape& shape, std::int64_t images, std::int64_t channels) {
  OperandLayout layout{DType::float32, shape, contiguous_strides(shape)};
  layout.dims[0] = images;
  layout.dims[1] = channels;
  // One image is dense, however many channels it belongs to.
  if (images == 1) layout.strides[0] = channels * layout.strides[1];
  return layout;
}

}  // namespace

PreparedConvolution::PreparedConvolution() : user_(new_weight_user()) {}
PreparedConvolution::~PreparedConvolution() { forget_weight_user(user_); }

std::unique_ptr<const PreparedConvolution> PreparedConvolution::make(const ConvolutionProblem& problem) {
  const bool is_float = problem.dtype == DType::float32 || is_half(problem.dtype);
  const std::size_t axes = problem.x.size() - 2;
  if (!is_float || axes > kMostSpatialAxes) return nullptr;
  std::unique_ptr<PreparedConvolution> prepared(new PreparedConvolution);
  prepared->problem_ = problem;
  prepared->empty_ = prepared->products() == 0;
  if (prepared->empty_) return prepared;
  return prepared->make_slices() ? std::move(prepared) : nullptr;
}

double PreparedConvolution::products() const {
  return static_cast<double>(element_count(problem_.y)) * static_cast<double>(problem_.weight[1]) *
         static_cast<double>(spatial_size(problem_.weight));
}

bool PreparedConvolution::make_slices() {
  const std::int64_t batch = problem_.x[0];
  const std::int64_t groups = problem_.groups;
  const auto image_products =
      std::max<std::int64_t>(static_cast<std::int64_t>(products() / static_cast<double>(batch)), 1);
  // What can be cut besides the batch: groups, or else the channels of the result.
  const bool by_group = groups > 1;
  const std::int64_t result_channels =
      problem_.kind == ConvolutionKind::input_grad ? problem_.x[1] : problem_.weight[0];
  const std::int64_t sliceable = by_group ? groups : result_channels;
  const std::int64_t least =
      by_group ? divide_up(kSliceChannels, std::max(problem_.x[1] / groups, std::int64_t{1})) : kSliceChannels;
  if (problem_.kind == ConvolutionKind::weight_grad) {
    // It sums over the images: every piece has a weight of its own, and these are added. So a piece has enough to do,
    // and a weight that is large beside its images few pieces.
    const std::int64_t smallest = std::max(kPieceProducts, kSumProducts * element_count(problem_.weight));
    // Nor shall the weights take more memory than what they are computed from.
    const std::int64_t fit = 1 + (element_count(problem_.x) + element_count(problem_.y)) /
                                     std::max<std::int64_t>(element_count(problem_.weight), 1);
    const std::int64_t most =
        std::clamp<std::int64_t>(image_products * batch / smallest, 1, std::min({kPieces, batch, fit}));
    images_ = divide_up(batch, most);
    while (batch % images_ != 0 && batch / images_ <= 2 * most) --images_;
    while (batch % images_ != 0) ++images_;
  } else {
    images_ = std::clamp<std::int64_t>(divide_up(kPieceProducts, image_products), 1, batch);
    // Two pictures where there are enough: what is done once a piece is done half as often, and few are too large for
    // the second cache then.
    images_ = std::max({images_, batch / (4 * kPieces), std::min<std::int64_t>(batch / kPieces, 2)});
    while (batch % images_ != 0) --images_;
  }
  pieces_ = batch / images_;
  std::int64_t slices = 1;
  if (pieces_ < kPieces && image_products * images_ > 2 * kPieceProducts) {
    slices = std::min({divide_up(kPieces, pieces_), sliceable / std::max<std::int64_t>(least, 1),
                       image_products * images_ / kPieceProducts});
    slices = std::max<std::int64_t>(slices, 1);
  }
  const std::int64_t width = divide_up(divide_up(sliceable, slices), by_group ? 1 : 16) * (by_group ? 1 : 16);
  const bool whole = width >= sliceable;
  const std::int64_t sum_length = problem_.weight[1] * spatial_size(problem_.weight);
  const bool depthwise = by_group && problem_.weight[1] == 1;
  const bool reordering_pays = depthwise || (spatial_size(problem_.weight) > 1 && sum_length >= kReorderedProducts);
  // What lies in memory with gaps must be reordered: a slice of several images, or of the weight's input channels.
  const bool dense = whole || (images_ == 1 && (by_group || problem_.kind == ConvolutionKind::forward));
  const bool in_place = dense && !reordering_pays && problem_.kind != ConvolutionKind::weight_grad;
  for (std::int64_t begin = 0; begin < sliceable; begin += width) {
    if (!make_slice(begin, std::min(begin + width, sliceable), in_place)) return false;
  }
  return true;
}

bool PreparedConvolution::make_slice(std::int64_t begin, std::int64_t end, bool in_place) {
  const std::int64_t groups = problem_.groups;
  const std::int64_t group_in = problem_.weight[1];
  const std::int64_t group_out = problem_.weight[0] / groups;
  const std::int64_t kernel = spatial_size(problem_.weight);
  // The channels of x and y, and the groups, that take part.
  std::int64_t x_begin = 0, x_count = problem_.x[1], y_begin = 0, y_count = problem_.y[1], group_count = 1;
  Slice slice;
  if (groups > 1) {
    group_count = end - begin;
    x_begin = begin * group_in;
    x_count = group_count * group_in;
    y_begin = begin * group_out;
    y_count = group_count * group_out;
    slice.weight = y_begin * group_in * kernel;
  } else if (problem_.kind == ConvolutionKind::input_grad) {
    x_begin = begin;
    x_count = end - begin;
    slice.weight = begin * kernel;
  } else {
    y_begin = begin;
    y_count = end - begin;
    slice.weight = begin * group_in * kernel;
  }
  slice.x = x_begin * spatial_size(problem_.x);
  slice.y = y_begin * spatial_size(problem_.y);

  ConvolutionLayout layout;
  layout.kind = problem_.kind;
  layout.stride = problem_.stride;
  layout.padding_low = problem_.padding_low;
  layout.dilation = problem_.dilation;
  layout.in_place = in_place;
  // Strides of the whole weight; with groups there is one axis more.
  layout.weight.strides = contiguous_strides(problem_.weight);
  layout.weight.dims = problem_.weight;
  layout.weight.dims[0] = groups > 1 ? group_out : y_count;
  layout.weight.dims[1] = groups > 1 ? group_in : x_count;
  if (groups > 1) {
    layout.weight.strides.insert(0, layout.weight.strides[0] * group_out);
    layout.weight.dims.insert(0, group_count);
  }
  // How far the last window reaches beyond x, which may be less than the catalogue's padding_high, or not so far.
  for (std::size_t axis = 0; axis < problem_.stride.size(); ++axis) {
    const std::int64_t reach = (problem_.weight[2 + axis] - 1) * problem_.dilation[axis] + 1;
    const std::int64_t last = (problem_.y[2 + axis] - 1) * problem_.stride[axis] - problem_.padding_low[axis];
    layout.padding_high.push_back(last + reach - problem_.x[2 + axis]);
  }
  layout.x = channel_range(problem_.x, images_, x_count);
  layout.y = channel_range(problem_.y, images_, y_count);
  slice.primitive = ConvolutionPrimitive::get(layout);
  if (slice.primitive == nullptr) return false;
  slice.prepared = prepared_bytes_;
  prepared_bytes_ += (slice.primitive->prepared_weight_bytes() + 63) / 64 * 64;
  slices_.push_back(std::move(slice));
  return true;
}

void PreparedConvolution::prepare_weights(float* weight, std::byte* prepared) const {
  parallel_for(static_cast<std::int64_t>(slices_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Slice& slice = slices_[static_cast<std::size_t>(i)];
      if (slice.primitive->prepared_weight_bytes() != 0)
        slice.primitive->prepare_weight(weight + slice.weight, prepared + slice.prepared);
    }
  });
}

void PreparedConvolution::run_float(float* x, float* weight, float* y, bool weight_lasts) const {
  const std::shared_ptr<PreparedWeight> kept =
      weight_lasts && prepared_bytes_ != 0 ? find_prepared_weight(weight, user_, prepared_bytes_) : nullptr;
  const Scratch scratch(kept == nullptr ? prepared_bytes_ : 0);
  std::byte* const prepared = static_cast<std::byte*>(kept == nullptr ? scratch.data() : kept->data());
  if (prepared_bytes_ != 0 && (kept == nullptr || !kept->ready())) prepare_weights(weight, prepared);
  if (kept != nullptr && !kept->ready()) keep_prepared_weight(weight, user_, kept);
  const auto weight_of = [&](const Slice& slice) -> void* {
    if (slice.primitive->prepared_weight_bytes() == 0) return weight + slice.weight;
    return prepared + slice.prepared;
  };
  if (problem_.kind == ConvolutionKind::weight_grad && pieces_ > 1) {
    const std::int64_t count = element_count(problem_.weight);
    const Scratch parts(static_cast<std::size_t>((pieces_ - 1) * count) * sizeof(float));
    run_pieces(x, y, [&](const Slice& slice, std::int64_t piece) {
      return (piece == 0 ? weight : parts.as<float>() + (piece - 1) * count) + slice.weight;
    });
    parallel_for(count, kConvertGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t piece = 0; piece + 1 < pieces_; ++piece) {
        const float* const part = parts.as<float>() + piece * count;
        for (std::int64_t i = begin; i < end; ++i) weight[i] += part[i];
      }
    });
    return;
  }
  run_pieces(x, y, [&](const Slice& slice, std::int64_t) { return weight_of(slice); });
}

template <class WeightOf>
void PreparedConvolution::run_pieces(float* x, float* y, const WeightOf& weight_of) const {
  const auto slices = static_cast<std::int64_t>(slices_.size());
  const std::int64_t x_image = element_count(problem_.x) / problem_.x[0];
  const std::int64_t y_image = element_count(problem_.y) / problem_.y[0];
  parallel_for(slices * pieces_, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Slice& slice = slices_[static_cast<std::size_t>(i / pieces_)];
      const std::int64_t piece = i % pieces_;
      slice.primitive->run(x + piece * images_ * x_image + slice.x, weight_of(slice, piece),
                           y + piece * images_ * y_image + slice.y);
    }
  });
}

void PreparedConvolution::run(const void* x, const void* weight, const void* y, bool weight_lasts) const {
  // One of the three is the result; which one is known here, so the types need not say it three times.
  struct Operand {
    void* data;
    std::int64_t count;
    bool is_result;
  };
  const Operand operands[] = {
      {const_cast<void*>(x), element_count(problem_.x), problem_.kind == ConvolutionKind::input_grad},
      {const_cast<void*>(weight), element_count(problem_.weight), problem_.kind == ConvolutionKind::weight_grad},
      {const_cast<void*>(y), element_count(problem_.y), problem_.kind == ConvolutionKind::forward}};
  if (empty_) {
    for (const Operand& operand : operands) {
      if (operand.is_result && operand.count != 0)
        std::memset(operand.data, 0, static_cast<std::size_t>(operand.count) * size_of(problem_.dtype));
    }
    return;
  }
  const auto in_float = [&]<class T>(T) {
    const auto bytes = [](const Operand& operand) { return static_cast<std::size_t>(operand.count) * sizeof(float); };
    const Scratch wide[] = {Scratch(bytes(operands[0])), Scratch(bytes(operands[1])), Scratch(bytes(operands[2]))};
    for (int i = 0; i < 3; ++i) {
      if (operands[i].is_result) continue;
      parallel_for(operands[i].count, kConvertGrain, [&](std::int64_t begin, std::int64_t end) {
        to_float(static_cast<const T*>(operands[i].data) + begin, wide[i].as<float>() + begin, end - begin);
      });
    }
    run_float(wide[0].as<float>(), wide[1].as<float>(), wide[2].as<float>(), false);
    for (int i = 0; i < 3; ++i) {
      if (!operands[i].is_result) continue;
      parallel_for(operands[i].count, kConvertGrain, [&](std::int64_t begin, std::int64_t end) {
        from_float(wide[i].as<float>() + begin, static_cast<T*>(operands[i].data) + begin, end - begin);
      });
    }
  };
  if (problem_.dtype == DType::float16) return in_float(float16{});
  if (problem_.dtype == DType::bfloat16) return in_float(bfloat16{});
  run_float(static_cast<float*>(operands[0].data), static_cast<float*>(operands[1].data),
            static_cast<float*>(operands[2].data), weight_lasts && problem_.kind != ConvolutionKind::weight_grad);
}

}  // namespace lento::cpu

// Sums that are no single loop: over axes that are not neighbours, the last one among them, as of a convolution's bias
// in its derivative. The elements of a block are brought together and combined in the order of reduction_order.h.
#include "backends/cpu/native/reduce.h"

#include "backends/cpu/native/elements.h"
#include "backends/cpu/threads.h"
#include "ir/attrs_reduction.gen.h"
#include "ir/reduction_order.h"

#include <algorithm>
#include <vector>

namespace lento::cpu {

namespace {

template <class T>
[[gnu::always_inline]] inline T combine_block(const T* elements, std::int64_t count) {
  T lanes[kReductionLanes] = {};
  std::int64_t used = std::min(count, kReductionLanes);
  std::copy_n(elements, used, lanes);
  std::int64_t at = used;
  for (; at + kReductionLanes <= count; at += kReductionLanes) {
    for (std::int64_t lane = 0; lane < kReductionLanes; ++lane) lanes[lane] += elements[at + lane];
  }
  for (std::int64_t lane = 0; at + lane < count; ++lane) lanes[lane] += elements[at + lane];
  for (std::int64_t half = kReductionLanes / 2; half > 0; half /= 2) {
    for (std::int64_t lane = 0; lane + half < used; ++lane) lanes[lane] += lanes[lane + half];
    used = std::min(used, half);
  }
  return lanes[0];
}

LENTO_FOR_EVERY_PROCESSOR float sum_block(const float* elements, std::int64_t count) {
  return combine_block(elements, count);
}

LENTO_FOR_EVERY_PROCESSOR double sum_block(const double* elements, std::int64_t count) {
  return combine_block(elements, count);
}

/// Axes of the same kind, neighbours merged, slowest first.
struct Axes {
  std::vector<std::int64_t> extents, strides;

  std::int64_t count() const {
    std::int64_t product = 1;
    for (const std::int64_t extent : extents) product *= extent;
    return product;
  }

  std::int64_t offset_of(std::int64_t k) const {
    std::int64_t offset = 0;
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      offset += k % extents[axis] * strides[axis];
      k /= extents[axis];
    }
    return offset;
  }
};

class SumCall final : public PreparedCall {
 public:
  SumCall(DType dtype, Axes kept, Axes reduced)
      : dtype_(dtype),
        kept_(std::move(kept)),
        reduced_(std::move(reduced)),
        results_(kept_.count()),
        count_(reduced_.count()),
        blocks_((count_ + kReductionBlock - 1) / kReductionBlock) {}

  void run(const CallArguments& arguments) const override {
    if (dtype_ == DType::float32) {
      sum<float>(arguments);
    } else {
      sum<double>(arguments);
    }
  }

  double nanoseconds() const override {
    return static_cast<double>(results_ * count_) * static_cast<double>(size_of(dtype_)) * kNanosecondsPerByte;
  }

 private:
  template <class T>
  void sum(const CallArguments& arguments) const {
    const T* const x = static_cast<const T*>(arguments.operands[0]);
    T* const out = static_cast<T*>(arguments.results[0]);
    std::vector<T> values(static_cast<std::size_t>(results_ * blocks_));
    const std::int64_t block_bytes = std::min(count_, kReductionBlock) * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t grain = std::max<std::int64_t>(1, kGrainBytes / block_bytes);
    parallel_for(results_ * blocks_, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        values[static_cast<std::size_t>(i)] = block(x + kept_.offset_of(i / blocks_), i % blocks_);
      }
    });
    for (std::int64_t r = 0; r < results_; ++r) out[r] = combine_blocks(values.data() + r * blocks_);
  }

  /// The value of one block of a result whose elements start at `x`.
  template <class T>
  T block(const T* x, std::int64_t number) const {
    T together[kReductionBlock];
    const std::int64_t begin = number * kReductionBlock;
    const std::int64_t end = std::min(begin + kReductionBlock, count_);
    const std::int64_t run = reduced_.extents.back();
    for (std::int64_t k = begin; k < end;) {
      const std::int64_t length = std::min(run - k % run, end - k);
      const T* const from = x + reduced_.offset_of(k);
      if (length == end - begin) return sum_block(from, length);
      std::copy_n(from, length, together + (k - begin));
      k += length;
    }
    return sum_block(together, end - begin);
  }

  /// By the tree over the blocks' numbers, in place.
  template <class T>
  T combine_blocks(T* values) const {
    for (std::int64_t left = blocks_; left > 1; left = (left + 1) / 2) {
      for (std::int64_t j = 0; j < left / 2; ++j) values[j] = values[2 * j] + values[2 * j + 1];
      if (left % 2 == 1) values[left / 2] = values[left - 1];
    }
    return values[0];
  }

  DType dtype_;
  Axes kept_, reduced_;
  std::int64_t results_;
  std::int64_t count_;   // elements of a result
  std::int64_t blocks_;  // of a result
};

}  // namespace

std::unique_ptr<const PreparedCall> make_reduce_call(const Graph& graph, const Step& step) {
  const Record& node = graph.nodes[step.nodes[0]];
  const Meta operand = graph.meta_of(graph.operands(node)[0]);
  const bool real = operand.dtype == DType::float32 || operand.dtype == DType::float64;
  if (!real || node.dtype != operand.dtype || element_count(operand.shape) == 0) return nullptr;
  const Ints axes = decode_reduce_sum(node.attrs).axes;
  const auto rank = static_cast<std::int64_t>(operand.shape.size());
  Axes kept, reduced;
  std::int64_t stride = element_count(operand.shape);
  bool was_reduced = false;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const std::int64_t extent = operand.shape[static_cast<std::size_t>(axis)];
    stride /= extent;
    const bool is_reduced = std::ranges::any_of(axes, [&](std::int64_t a) { return (a < 0 ? a + rank : a) == axis; });
    Axes& side = is_reduced ? reduced : kept;
    if (axis > 0 && is_reduced == was_reduced) {
      side.extents.back() *= extent;
      side.strides.back() = stride;
    } else {
      side.extents.push_back(extent);
      side.strides.push_back(stride);
    }
    was_reduced = is_reduced;
  }
  // Elements that lie apart are not brought together faster than the reference's loop reads them.
  if (!was_reduced) return nullptr;
  return std::make_unique<SumCall>(operand.dtype, std::move(kept), std::move(reduced));
}

}  // namespace lento::cpu

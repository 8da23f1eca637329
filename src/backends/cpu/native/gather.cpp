// Reading at positions given by integer tensors.
#include "backends/cpu/native/elements.h"
#include "backends/cpu/native/indexed_rows.h"
#include "backends/cpu/prepared_call.h"
#include "backends/cpu/threads.h"
#include "ir/attrs_gather.gen.h"
#include "ir/op_gather.gen.h"

#include <algorithm>
#include <atomic>

namespace lento::cpu {

namespace {

/// How many rows ahead their first line is asked for.
constexpr std::int64_t kAhead = 16;
/// Rows longer than this are copied in pieces by several threads.
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 18;

template <class T>
void take_elements(T* to, const T* x, const std::int64_t* offsets, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) __builtin_prefetch(x + offsets[i + kAhead]);
    to[i] = x[offsets[i]];
  }
}

class GatherCall final : public PreparedCall {
 public:
  GatherCall(Op op, DType dtype, IndexedRows indexed)
      : op_(op),
        element_bytes_(static_cast<std::int64_t>(size_of(dtype))),
        row_bytes_(indexed.row_size() * element_bytes_),
        stores_(stores_for(indexed.rows() * row_bytes_)),
        indexed_(std::move(indexed)) {}

  void run(const CallArguments& arguments) const override {
    // Indices are checked even when there is nothing to take with them.
    if (indexed_.rows() == 0 && op_ == op::take_axis) indexed_.raise(op_, arguments);
    if (row_bytes_ > kPieceBytes) {
      run_long_rows(arguments);
      return;
    }
    std::atomic<bool> wrong{false};
    const std::int64_t grain = std::max<std::int64_t>(1, kGrainBytes / (row_bytes_ + 16));
    parallel_for(indexed_.rows(), grain, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t offsets[IndexedRows::kBlock];
      for (std::int64_t at = begin; at < end; at += IndexedRows::kBlock) {
        const std::int64_t count = std::min(end - at, IndexedRows::kBlock);
        if (!indexed_.resolve(arguments, at, at + count, offsets)) {
          wrong.store(true, std::memory_order_relaxed);
          return;
        }
        copy_rows(arguments, at, count, offsets);
      }
      finish_streaming();
    });
    if (wrong) indexed_.raise(op_, arguments);
  }

  double nanoseconds() const override {
    return static_cast<double>(indexed_.rows()) * (3 + static_cast<double>(row_bytes_) * kNanosecondsPerByte);
  }

 private:
  void copy_rows(const CallArguments& arguments, std::int64_t first, std::int64_t count,
                 const std::int64_t* offsets) const {
    auto* to = static_cast<std::byte*>(arguments.results[0]) + first * row_bytes_;
    const auto* x = static_cast<const std::byte*>(arguments.operands[0]);
    if (row_bytes_ == element_bytes_) {
      dispatch_size(static_cast<std::size_t>(element_bytes_), [&]<class T>() {
        take_elements(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(x), offsets, count);
      });
      return;
    }
    constexpr std::int64_t kRowsAhead = 4;
    for (std::int64_t i = 0; i < count; ++i) {
      if (i + kRowsAhead < count) {
        const std::byte* next = x + offsets[i + kRowsAhead] * element_bytes_;
        for (std::int64_t line = 0; line < std::min<std::int64_t>(row_bytes_, 256); line += 64) {
          __builtin_prefetch(next + line);
        }
      }
      copy_bytes(to + i * row_bytes_, x + offsets[i] * element_bytes_, static_cast<std::size_t>(row_bytes_), stores_);
    }
  }

  void run_long_rows(const CallArguments& arguments) const {
    indexed_.check(op_, arguments);
    const std::int64_t pieces = (row_bytes_ + kPieceBytes - 1) / kPieceBytes;
    parallel_for(indexed_.rows() * pieces, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t unit = begin; unit < end; ++unit) {
        const std::int64_t row = unit / pieces;
        const std::int64_t at = unit % pieces * kPieceBytes;
        std::int64_t offset = 0;
        indexed_.resolve(arguments, row, row + 1, &offset);
        copy_bytes(static_cast<std::byte*>(arguments.results[0]) + row * row_bytes_ + at,
                   static_cast<const std::byte*>(arguments.operands[0]) + offset * element_bytes_ + at,
                   static_cast<std::size_t>(std::min(kPieceBytes, row_bytes_ - at)), stores_);
      }
      finish_streaming();
    });
  }

  Op op_;
  std::int64_t element_bytes_;
  std::int64_t row_bytes_;
  Stores stores_;
  IndexedRows indexed_;
};

}  // namespace

std::unique_ptr<const PreparedCall> make_gather_call(const Graph& graph, const Step& step) {
  const Record& node = graph.nodes[step.nodes[0]];
  const std::span<const OperandRef> operands = graph.operands(node);
  const Meta x = graph.meta_of(operands[0]);
  const auto make = [&](IndexedRows indexed) {
    return std::make_unique<GatherCall>(node.op, x.dtype, std::move(indexed));
  };
  if (node.op == op::take_axis) {
    return make(IndexedRows::of_slices(x, graph.meta_of(operands[1]), 1, decode_take_axis(node.attrs).axis));
  }
  if (node.op == op::take_along_axis) {
    return make(IndexedRows::along_axis(x, graph.meta_of(operands[1]), 1, decode_take_along_axis(node.attrs).axis));
  }
  std::vector<Meta> indices;
  for (const OperandRef operand : operands.subspan(1)) indices.push_back(graph.meta_of(operand));
  const Shape& out = shape_of(node.shape);
  const Shape common(out.span().first(out.size() - (x.shape.size() - indices.size())));
  return make(IndexedRows::of_rows(x, indices, 1, common));
}

}  // namespace lento::cpu

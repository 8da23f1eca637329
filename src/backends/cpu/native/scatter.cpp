// Writing at positions given by integer tensors. Updates of one position must be applied in the order of the indices,
// so the threads share out the positions and not the updates: each goes over all indices and applies those that fall
// into its part of the result. What comes out is what one thread would have made.
#include "backends/cpu/native/elements.h"
#include "backends/cpu/native/indexed_rows.h"
#include "backends/cpu/prepared_call.h"
#include "backends/cpu/threads.h"
#include "backends/reference/arithmetic.h"
#include "base/dispatch.h"
#include "ir/attrs_scatter.gen.h"
#include "ir/op_scatter.gen.h"

#include <algorithm>

namespace lento::cpu {

namespace {

/// More parts than this are not worth it: each of them has to go over all indices.
constexpr std::int64_t kMaxParts = 8;
/// Rows from this size on are cut themselves: every thread applies all updates to its part of each row.
constexpr std::int64_t kLongRowBytes = std::int64_t{1} << 15;

/// The part of the result that one thread writes: rows that start in first … last - 1, of each the elements from
/// `row_first` up to `row_last`.
struct Part {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t row_first = 0;
  std::int64_t row_last = 1;
  bool whole = false;  // all rows
};

/// `target` becomes what `combine` makes of it and `value`. 16-bit floats are rounded after each update.
template <class Combine>
struct Updating {
  template <class T>
  void operator()(T& target, T value) const {
    target = static_cast<T>(Combine{}(reference::widen(target), reference::widen(value)));
  }
};

struct Setting {
  template <class T>
  void operator()(T& target, T value) const {
    target = value;
  }
};

template <class T, class Update>
void apply_part(const IndexedRows& indexed, const CallArguments& arguments, const T* value, const Part& part,
                Update update) {
  T* const out = static_cast<T*>(arguments.results[0]);
  const std::int64_t row = indexed.row_size();
  std::int64_t offsets[IndexedRows::kBlock];
  std::int32_t mine[IndexedRows::kBlock];
  for (std::int64_t at = 0; at < indexed.rows(); at += IndexedRows::kBlock) {
    const std::int64_t count = std::min(indexed.rows() - at, IndexedRows::kBlock);
    indexed.resolve(arguments, at, at + count, offsets);
    if (row == 1 && part.whole) {
      for (std::int64_t i = 0; i < count; ++i) __builtin_prefetch(out + offsets[i], 1);
      for (std::int64_t i = 0; i < count; ++i) update(out[offsets[i]], value[at + i]);
      continue;
    }
    // Which of them fall into the part, without a branch that nobody could predict.
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      mine[found] = static_cast<std::int32_t>(i);
      found += static_cast<std::int64_t>(offsets[i] >= part.first) & static_cast<std::int64_t>(offsets[i] < part.last);
    }
    if (row == 1) {
      for (std::int64_t j = 0; j < found; ++j) __builtin_prefetch(out + offsets[mine[j]], 1);
      for (std::int64_t j = 0; j < found; ++j) update(out[offsets[mine[j]]], value[at + mine[j]]);
    } else {
      for (std::int64_t j = 0; j < found; ++j) {
        T* to = out + offsets[mine[j]];
        const T* from = value + (at + mine[j]) * row;
        for (std::int64_t k = part.row_first; k < part.row_last; ++k) update(to[k], from[k]);
      }
    }
  }
}

class ScatterCall final : public PreparedCall {
 public:
  using Mode = ScatterAxisAttrs::Mode;

  ScatterCall(Op op, DType dtype, std::int64_t size, std::size_t value, Mode mode, IndexedRows indexed)
      : op_(op), dtype_(dtype), size_(size), value_(value), mode_(mode), indexed_(std::move(indexed)) {}

  void run(const CallArguments& arguments) const override {
    indexed_.check(op_, arguments);
    if (indexed_.rows() * indexed_.row_size() == 0) return;
    if (mode_ == Mode::set) {
      dispatch_size(size_of(dtype_), [&]<class T>() { apply<T>(arguments, Setting{}); });
      return;
    }
    dispatch(dtype_, [&]<class T>() {
      switch (mode_) {
        case Mode::add:
          return apply<T>(arguments, Updating<reference::Add>{});
        case Mode::multiply:
          return apply<T>(arguments, Updating<reference::Multiply>{});
        case Mode::minimum:
          return apply<T>(arguments, Updating<reference::Minimum>{});
        default:
          return apply<T>(arguments, Updating<reference::Maximum>{});
      }
    });
  }

  double nanoseconds() const override {
    return static_cast<double>(indexed_.rows()) * (5 + static_cast<double>(indexed_.row_size()));
  }

 private:
  template <class T, class Update>
  void apply(const CallArguments& arguments, Update update) const {
    const auto* value = static_cast<const T*>(arguments.operands[value_]);
    const std::int64_t row = indexed_.row_size();
    const auto bytes = static_cast<std::int64_t>(sizeof(T));
    const bool cut_rows = row * bytes >= kLongRowBytes;
    const std::int64_t units = cut_rows ? row : size_ / row;
    // Parts end at cache lines, where they can, so that threads do not write to the same one.
    const std::int64_t line = std::max<std::int64_t>(1, 64 / (cut_rows ? bytes : bytes * row));
    const std::int64_t work = indexed_.rows() * (row * bytes + 16);
    const std::int64_t wanted = std::min(
        {static_cast<std::int64_t>(get_num_threads()), kMaxParts, work / kGrainBytes + 1, (units + line - 1) / line});
    const std::int64_t length = ((units + wanted - 1) / wanted + line - 1) / line * line;
    parallel_for((units + length - 1) / length, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) {
        const std::int64_t first = p * length;
        const std::int64_t last = std::min(units, first + length);
        const Part part = cut_rows ? Part{0, size_, first, last, true}
                                   : Part{first * row, last * row, 0, row, first == 0 && last == units};
        apply_part<T>(indexed_, arguments, value, part, update);
      }
    });
  }

  Op op_;
  DType dtype_;
  std::int64_t size_;  // elements of the result
  std::size_t value_;  // which operand
  Mode mode_;
  IndexedRows indexed_;
};

}  // namespace

std::unique_ptr<const PreparedCall> make_scatter_call(const Graph& graph, const Step& step) {
  const Record& node = graph.nodes[step.nodes[0]];
  const std::span<const OperandRef> operands = graph.operands(node);
  const Meta x = graph.meta_of(operands[0]);
  const std::int64_t size = element_count(x.shape);
  if (node.op == op::scatter_axis) {
    const ScatterAxisAttrs attrs = decode_scatter_axis(node.attrs);
    return std::make_unique<ScatterCall>(node.op, x.dtype, size, 2, attrs.mode,
                                         IndexedRows::along_axis(x, graph.meta_of(operands[1]), 1, attrs.axis));
  }
  const Meta value = graph.meta_of(operands[1]);
  std::vector<Meta> indices;
  for (const OperandRef operand : operands.subspan(2)) indices.push_back(graph.meta_of(operand));
  const Shape common(value.shape.span().first(value.shape.size() - (x.shape.size() - indices.size())));
  const auto mode = static_cast<ScatterCall::Mode>(decode_scatter_nd(node.attrs).mode);
  return std::make_unique<ScatterCall>(node.op, x.dtype, size, 1, mode, IndexedRows::of_rows(x, indices, 2, common));
}

}  // namespace lento::cpu

// The tensors one after the other along an axis: for each position of the axes before it, one run of each tensor.
#include "backends/cpu/native/elements.h"
#include "backends/cpu/prepared_call.h"
#include "backends/cpu/threads.h"
#include "backends/reference/array.h"
#include "ir/attrs_index_map.gen.h"

#include <algorithm>
#include <vector>

namespace lento::cpu {

namespace {

/// Rows of the result up to this size are not worth a copy for each of their pieces.
constexpr std::int64_t kShortRowBytes = 256;

class ConcatenateCall final : public PreparedCall {
 public:
  ConcatenateCall(std::size_t element_bytes, std::int64_t outer, std::vector<std::int64_t> pieces)
      : element_bytes_(element_bytes), outer_(outer), pieces_(std::move(pieces)) {
    for (const std::int64_t piece : pieces_) {
      starts_.push_back(row_bytes_);
      row_bytes_ += piece;
    }
    stores_ = stores_for(outer_ * row_bytes_);
  }

  void run(const CallArguments& arguments) const override {
    if (row_bytes_ == 0) return;
    if (row_bytes_ <= kShortRowBytes) {
      parallel_for(outer_, kGrainBytes / row_bytes_, [&](std::int64_t begin, std::int64_t end) {
        dispatch_size(element_bytes_, [&]<class T>() { join_short_rows<T>(arguments, begin, end); });
      });
      return;
    }
    // In lines of the result, so that no two threads write to the same one.
    const std::int64_t bytes = outer_ * row_bytes_;
    parallel_for((bytes + 63) / 64, kGrainBytes / 64, [&](std::int64_t begin, std::int64_t end) {
      copy_range(arguments, begin * 64, std::min(end * 64, bytes));
    });
  }

  double nanoseconds() const override { return static_cast<double>(outer_ * row_bytes_) * kNanosecondsPerByte; }

 private:
  void copy_range(const CallArguments& arguments, std::int64_t begin, std::int64_t end) const {
    auto* const out = static_cast<std::byte*>(arguments.results[0]);
    std::int64_t row = begin / row_bytes_;
    std::int64_t at = begin % row_bytes_;
    std::size_t piece =
        static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), at) - starts_.begin()) - 1;
    for (std::int64_t done = begin; done < end;) {
      const std::int64_t skipped = at - starts_[piece];
      const std::int64_t count = std::min(pieces_[piece] - skipped, end - done);
      copy_bytes(out + done, static_cast<const std::byte*>(arguments.operands[piece]) + row * pieces_[piece] + skipped,
                 static_cast<std::size_t>(count), stores_);
      done += count;
      at += count;
      if (++piece < pieces_.size()) continue;
      piece = 0;
      at = 0;
      ++row;
    }
    finish_streaming();
  }

  /// Piece by piece over blocks of rows that stay in the first cache level.
  template <class T>
  void join_short_rows(const CallArguments& arguments, std::int64_t begin, std::int64_t end) const {
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
    const std::int64_t row = row_bytes_ / kBytes;
    const std::int64_t block = std::max<std::int64_t>(1, (std::int64_t{1} << 13) / row_bytes_);
    for (std::int64_t first = begin; first < end; first += block) {
      const std::int64_t last = std::min(end, first + block);
      for (std::size_t p = 0; p < pieces_.size(); ++p) {
        const std::int64_t length = pieces_[p] / kBytes;
        T* to = static_cast<T*>(arguments.results[0]) + first * row + starts_[p] / kBytes;
        const T* from = static_cast<const T*>(arguments.operands[p]) + first * length;
        if (length == 1) {
          for (std::int64_t o = 0; o < last - first; ++o) to[o * row] = from[o];
        } else {
          for (std::int64_t o = first; o < last; ++o, to += row, from += length) std::copy_n(from, length, to);
        }
      }
    }
  }

  std::size_t element_bytes_;
  std::int64_t outer_;
  std::vector<std::int64_t> pieces_;  // bytes of a run of each tensor
  std::vector<std::int64_t> starts_;  // where in a row of the result it goes
  std::int64_t row_bytes_ = 0;
  Stores stores_ = Stores::cached;
};

}  // namespace

std::unique_ptr<const PreparedCall> make_concatenate_call(const Graph& graph, const Step& step) {
  const Record& node = graph.nodes[step.nodes[0]];
  const std::int64_t axis = decode_concatenate(node.attrs).axis;
  const std::size_t bytes = size_of(node.dtype);
  std::vector<std::int64_t> pieces;
  for (const OperandRef operand : graph.operands(node)) {
    const reference::AxisView view(graph.meta_of(operand).shape, axis);
    pieces.push_back(view.extent * view.inner * static_cast<std::int64_t>(bytes));
  }
  const std::int64_t outer = reference::AxisView(shape_of(node.shape), axis).outer;
  return std::make_unique<ConcatenateCall>(bytes, outer, std::move(pieces));
}

}  // namespace lento::cpu

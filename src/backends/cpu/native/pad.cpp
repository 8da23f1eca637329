// Padding with a number, and cropping where an amount is negative: the result row by row, each a run of padding, a run
// of x and a run of padding again, or padding alone.
#include "backends/cpu/native/elements.h"
#include "backends/cpu/prepared_call.h"
#include "backends/cpu/threads.h"
#include "backends/reference/array.h"
#include "backends/reference/convert.h"
#include "base/dispatch.h"
#include "ir/attrs_index_map.gen.h"

#include <algorithm>

namespace lento::cpu {

namespace {

class PadCall final : public PreparedCall {
 public:
  PadCall(DType dtype, Shape x, Ints low, Shape out)
      : dtype_(dtype), x_(std::move(x)), low_(std::move(low)), out_(std::move(out)) {
    // Neighbouring axes along which nothing is added or removed are one, and belong to the last one that changes.
    for (std::size_t d = out_.size(); d-- > 1;) {
      if (low_[d] != 0 || x_[d] != out_[d]) continue;
      x_[d - 1] *= x_[d];
      low_[d - 1] *= out_[d];
      out_[d - 1] *= out_[d];
      x_.erase(d);
      low_.erase(d);
      out_.erase(d);
    }
    if (out_.empty()) {
      x_ = out_ = {1};
      low_ = {0};
    }
    strides_ = reference::row_major_strides(x_);
    stores_ = stores_for(element_count(out_) * static_cast<std::int64_t>(size_of(dtype_)));
  }

  void run(const CallArguments& arguments) const override {
    dispatch(dtype_, [&]<class T>() {
      const T padding = reference::convert_number<T>(arguments.numbers[1]->value);
      constexpr std::int64_t kLine = std::max<std::int64_t>(1, 64 / static_cast<std::int64_t>(sizeof(T)));
      const std::int64_t count = element_count(out_);
      parallel_for((count + kLine - 1) / kLine, kGrainBytes / 64, [&](std::int64_t begin, std::int64_t end) {
        fill_range<T>(arguments, padding, begin * kLine, std::min(count, end * kLine));
      });
    });
  }

  double nanoseconds() const override {
    return static_cast<double>(element_count(out_)) * static_cast<double>(size_of(dtype_)) * kNanosecondsPerByte;
  }

 private:
  template <class T>
  void fill_range(const CallArguments& arguments, T padding, std::int64_t begin, std::int64_t end) const {
    T* const out = static_cast<T*>(arguments.results[0]);
    const T* const x = static_cast<const T*>(arguments.operands[0]);
    const std::int64_t length = out_.back();
    // Where in a row of the result x begins and ends.
    const std::int64_t first = std::clamp<std::int64_t>(low_.back(), 0, length);
    const std::int64_t last = std::clamp<std::int64_t>(low_.back() + x_.back(), first, length);
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t row = at / length;
      const std::int64_t from = at - row * length;
      const std::int64_t to = std::min(length, from + (end - at));
      T* const target = out + row * length;
      const std::int64_t source = source_row(row);
      if (source < 0) {
        std::fill(target + from, target + to, padding);
      } else {
        const std::int64_t copy_from = std::clamp(first, from, to);
        const std::int64_t copy_to = std::clamp(last, copy_from, to);
        std::fill(target + from, target + copy_from, padding);
        copy_bytes(target + copy_from, x + source + copy_from - low_.back(),
                   static_cast<std::size_t>(copy_to - copy_from) * sizeof(T), stores_);
        std::fill(target + copy_to, target + to, padding);
      }
      at += to - from;
    }
    finish_streaming();
  }

  /// Where in x the row of the result comes from; -1 when it is padding.
  std::int64_t source_row(std::int64_t row) const {
    std::int64_t source = 0;
    for (std::size_t d = out_.size() - 1; d-- > 0;) {
      const std::int64_t k = row % out_[d] - low_[d];
      if (k < 0 || k >= x_[d]) return -1;
      source += k * strides_[d];
      row /= out_[d];
    }
    return source;
  }

  DType dtype_;
  Shape x_;
  Ints low_;
  Shape out_;
  Ints strides_;  // of x
  Stores stores_ = Stores::cached;
};

}  // namespace

std::unique_ptr<const PreparedCall> make_pad_call(const Graph& graph, const Step& step) {
  const Record& node = graph.nodes[step.nodes[0]];
  return std::make_unique<PadCall>(node.dtype, graph.meta_of(graph.operands(node)[0]).shape,
                                   decode_pad_constant(node.attrs).low, shape_of(node.shape));
}

}  // namespace lento::cpu

// A slice of a tensor replaced: the result already holds x, only the slice is written.
#include "backend/node_call.h"
#include "backends/cpu/native/elements.h"
#include "backends/cpu/prepared_call.h"
#include "backends/cpu/threads.h"
#include "backends/reference/array.h"
#include "ir/attrs_index_map.gen.h"
#include "ir/op_index_map.gen.h"
#include "reference/kernels_index_map.gen.h"

#include <algorithm>
#include <vector>

namespace lento::cpu {

namespace {

class UpdateCall final : public PreparedCall {
 public:
  UpdateCall(DType dtype, Shape x, Shape value, StridedUpdateAttrs attrs)
      : dtype_(dtype), x_(std::move(x)), value_(std::move(value)), attrs_(std::move(attrs)) {
    x_strides_ = reference::row_major_strides(x_);
    sizes_ = value_;
    strides_ = x_strides_;
    for (std::size_t j = 0; j < attrs_.axes.size(); ++j) {
      const auto axis = static_cast<std::size_t>(attrs_.axes[j]);
      strides_[axis] = value_[axis] == 1 ? 0 : strides_[axis] * attrs_.steps[j];
    }
    for (std::size_t d = sizes_.size(); d-- > 0;) {
      if (sizes_[d] != 1) continue;
      sizes_.erase(d);
      strides_.erase(d);
    }
    for (std::size_t d = sizes_.size(); d-- > 1;) {
      if (strides_[d - 1] != strides_[d] * sizes_[d]) continue;
      sizes_[d] *= sizes_[d - 1];
      sizes_.erase(d - 1);
      strides_.erase(d - 1);
    }
    if (sizes_.empty()) {
      sizes_ = {1};
      strides_ = {1};
    }
  }

  void run(const CallArguments& arguments) const override {
    const std::int64_t count = element_count(sizes_);
    if (count == 0) return;
    const std::int64_t start = checked_start(arguments);
    dispatch_size(size_of(dtype_), [&]<class T>() {
      T* const out = static_cast<T*>(arguments.results[0]) + start;
      const T* const value = static_cast<const T*>(arguments.operands[1]);
      const std::int64_t grain = kGrainBytes / static_cast<std::int64_t>(sizeof(T));
      parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) { write(out, value, begin, end); });
    });
  }

  double nanoseconds() const override {
    return static_cast<double>(element_count(sizes_)) * static_cast<double>(size_of(dtype_)) * kNanosecondsPerByte;
  }

 private:
  /// Where the slice begins in the result. The reference kernel, which checks before it writes, says what is wrong.
  std::int64_t checked_start(const CallArguments& arguments) const {
    std::int64_t start = 0;
    bool inside = arguments.numbers.size() == attrs_.axes.size() + 2;
    for (std::size_t j = 0; j < attrs_.axes.size() && inside; ++j) {
      const auto axis = static_cast<std::size_t>(attrs_.axes[j]);
      const auto first = arguments.numbers[2 + j]->value.to<std::int64_t>();
      inside = first >= 0 && first < x_[axis];
      if (!inside) break;
      const std::int64_t last = first + (value_[axis] == 1 ? 0 : (value_[axis] - 1) * attrs_.steps[j]);
      inside = last >= 0 && last < x_[axis];
      start += first * x_strides_[axis];
    }
    if (!inside) {
      const NodeContext context(op::strided_update);
      std::vector<Scalar> starts;
      for (const ScalarArgument* number : arguments.numbers.subspan(2)) starts.push_back(number->value);
      const reference::Array out(arguments.results[0], dtype_, x_);
      reference::strided_update(out, out, {arguments.operands[1], dtype_, value_}, starts, attrs_);
    }
    return start;
  }

  template <class T>
  void write(T* out, const T* value, std::int64_t begin, std::int64_t end) const {
    const std::int64_t length = sizes_.back();
    const std::int64_t stride = strides_.back();
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t column = at % length;
      const std::int64_t count = std::min(length - column, end - at);
      std::int64_t offset = column * stride;
      std::int64_t rest = at / length;
      for (std::size_t d = sizes_.size() - 1; d-- > 0;) {
        offset += rest % sizes_[d] * strides_[d];
        rest /= sizes_[d];
      }
      if (stride == 1) {
        copy_bytes(out + offset, value + at, static_cast<std::size_t>(count) * sizeof(T), Stores::cached);
      } else {
        for (std::int64_t i = 0; i < count; ++i) out[offset + i * stride] = value[at + i];
      }
      at += count;
    }
  }

  DType dtype_;
  Shape x_;
  Shape value_;
  StridedUpdateAttrs attrs_;
  Ints x_strides_;
  Shape sizes_;  // of the slice, with what can be walked as one merged
  Ints strides_;
};

}  // namespace

std::unique_ptr<const PreparedCall> make_update_call(const Graph& graph, const Step& step) {
  const Record& node = graph.nodes[step.nodes[0]];
  return std::make_unique<UpdateCall>(node.dtype, shape_of(node.shape), graph.meta_of(graph.operands(node)[1]).shape,
                                      decode_strided_update(node.attrs));
}

}  // namespace lento::cpu

#include "backends/toy/call.h"

#include "backend/node_call.h"
#include "backends/reference/arithmetic.h"
#include "backends/reference/dispatch.h"
#include "backends/reference/slices.h"
#include "backends/toy/device.h"
#include "base/dispatch.h"
#include "base/format.h"
#include "ir/attrs_index_map.gen.h"
#include "ir/index_operands.h"
#include "ir/op.h"
#include "ir/op_index_map.gen.h"
#include "ir/op_sort.gen.h"

#include <algorithm>
#include <concepts>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

namespace lento::toy {

namespace {

/// What a node is, and what it reads and writes.
struct Described {
  Op op{};
  AttrsId attrs{};
  std::vector<Meta> operands;
  std::vector<Meta> results;
  std::vector<IndexOperand> indices;
};

/// What one call gets.
struct Bound {
  std::vector<void*> operands;
  std::vector<ScalarArgument> numbers;
  std::vector<void*> results;
  StatusWord* status = nullptr;  // null when it has none
};

/// The indices as the device reads them: those that do not exist are told, and 0 is read in their place.
std::vector<std::byte> checked_indices(const std::byte* data, const Meta& meta, std::int64_t extent, StatusWord& word) {
  std::vector<std::byte> checked(byte_size(meta));
  dispatch(meta.dtype, [&]<class T>() {
    if constexpr (std::integral<T> && !std::same_as<T, bool>) {
      for (std::size_t at = 0; at < checked.size(); at += sizeof(T)) {
        T index;
        std::memcpy(&index, data + at, sizeof(T));
        if (std::cmp_less(index, -extent) || std::cmp_greater_equal(index, extent)) {
          raise_to(word, static_cast<StatusWord>(index));
          index = 0;
        }
        std::memcpy(checked.data() + at, &index, sizeof(T));
      }
    }
  });
  return checked;
}

std::int64_t count_nonzero(const std::byte* data, const Meta& meta) {
  std::int64_t found = 0;
  dispatch(meta.dtype, [&]<class T>() {
    const T* const elements = reinterpret_cast<const T*>(data);
    found = std::count_if(elements, elements + element_count(meta.shape),
                          [](T element) { return reference::is_nonzero(element); });
  });
  return found;
}

/// On the device's thread.
void run_on(ToyDevice& device, const Described& node, const Bound& bound) {
  NodeCall call{.op = node.op, .attrs = node.attrs, .operands = {}, .results = {}};
  for (std::size_t i = 0; i < bound.operands.size(); ++i) {
    if (bound.operands[i] == nullptr) {
      call.operands.push_back({nullptr, bound.numbers[i].dtype, nullptr, &bound.numbers[i]});
    } else {
      call.operands.push_back(
          {device.own(bound.operands[i]), node.operands[i].dtype, &node.operands[i].shape, nullptr});
    }
  }
  std::vector<std::vector<std::byte>> own;  // memory of this call alone
  const auto word = [&](std::size_t which) -> StatusWord& {
    return *reinterpret_cast<StatusWord*>(device.own(bound.status + which));
  };
  for (std::size_t i = 0; i < node.indices.size(); ++i) {
    const IndexOperand& indices = node.indices[i];
    NodeCall::Tensor& operand = call.operands[indices.operand];
    own.push_back(checked_indices(static_cast<const std::byte*>(operand.data), node.operands[indices.operand],
                                  indices.extent, word(i)));
    operand.data = own.back().data();
  }
  if (node.op == op::flat_nonzero) {
    const std::int64_t found = count_nonzero(static_cast<const std::byte*>(call.operands[0].data), node.operands[0]);
    if (found != element_count(node.results[0].shape)) return raise_to(word(0), static_cast<StatusWord>(found) + 1);
  }
  for (std::size_t r = 0; r < bound.results.size(); ++r) {
    const Meta& meta = node.results[r];
    if (bound.results[r] == nullptr) own.emplace_back(byte_size(meta) + 16);
    std::byte* const data = bound.results[r] == nullptr ? own.back().data() : device.own(bound.results[r]);
    call.results.push_back({data, meta.dtype, &meta.shape, nullptr});
  }
  try {
    reference::run_node(call);
  } catch (const std::exception&) {
    device.fault();
  }
}

class ToyCall final : public PreparedCall {
 public:
  ToyCall(const Graph& graph, const Record& record, ToyDevice& device) : device_(device) {
    node_.op = record.op;
    node_.attrs = record.attrs;
    for (const OperandRef operand : graph.operands(record)) node_.operands.push_back(graph.meta_of(operand));
    node_.results = declared_results(graph, record);
    node_.indices = index_operands(graph, record);
  }

  void run(const CallArguments& arguments) const override {
    require_inside(arguments);
    Bound bound;
    bound.operands.assign(arguments.operands.begin(), arguments.operands.end());
    for (const ScalarArgument* number : arguments.numbers) {
      bound.numbers.push_back(number == nullptr ? ScalarArgument{} : *number);
    }
    bound.results.assign(arguments.results.begin(), arguments.results.end());
    bound.status = arguments.status;
    device_.compute([this, bound = std::move(bound)] { run_on(device_, node_, bound); });
  }

  std::size_t status_words() const override { return node_.op == op::flat_nonzero ? 1 : 0; }
  LateFailure explain(std::size_t, StatusWord word) const override {
    return {ErrorKind::value,
            fmt::format("{} elements differ from zero, expected {}", word - 1, element_count(node_.results[0].shape))};
  }
  double nanoseconds() const override { return 1000; }

 private:
  /// What the host knows already is no matter for the device.
  void require_inside(const CallArguments& arguments) const {
    if (node_.op != op::strided_slice && node_.op != op::strided_update) return;
    std::vector<Scalar> starts;
    for (const ScalarArgument* number : arguments.numbers) {
      if (number != nullptr) starts.push_back(number->value);
    }
    const Shape& whole = node_.operands[0].shape;
    if (node_.op == op::strided_slice) {
      const StridedSliceAttrs attrs = decode_strided_slice(node_.attrs);
      reference::require_slice_inside(whole, node_.results[0].shape, starts, attrs.axes, attrs.steps);
    } else {
      const StridedUpdateAttrs attrs = decode_strided_update(node_.attrs);
      reference::require_slice_inside(whole, node_.operands[1].shape, starts, attrs.axes, attrs.steps);
    }
  }

  ToyDevice& device_;
  Described node_;
};

}  // namespace

std::unique_ptr<const PreparedCall> make_call(const Graph& graph, const Record& record, ToyDevice& device) {
  if (info(record.op).family == Family::linalg) return nullptr;
  return std::make_unique<ToyCall>(graph, record, device);
}

}  // namespace lento::toy

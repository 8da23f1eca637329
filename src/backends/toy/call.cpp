#include "backends/toy/call.h"

#include "backend/node_call.h"
#include "backends/reference/dispatch.h"
#include "backends/toy/device.h"
#include "ir/attrs_index_map.gen.h"
#include "ir/bad_values.h"
#include "ir/op_index_map.gen.h"
#include "ir/slices.h"

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
};

/// What one call gets.
struct Bound {
  std::vector<void*> operands;
  std::vector<ScalarArgument> numbers;
  std::vector<void*> results;
  StatusWord* status = nullptr;  // null when it has none
};

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
  for (std::size_t r = 0; r < bound.results.size(); ++r) {
    const Meta& meta = node.results[r];
    if (bound.results[r] == nullptr) own.emplace_back(byte_size(meta) + 16);
    std::byte* const data = bound.results[r] == nullptr ? own.back().data() : device.own(bound.results[r]);
    call.results.push_back({data, meta.dtype, &meta.shape, nullptr});
  }
  try {
    auto* const words = bound.status == nullptr ? nullptr : device.own(bound.status);
    reference::run_node(call, reinterpret_cast<StatusWord*>(words));
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

  std::size_t status_words() const override { return has_value_word(node_.op) ? 1 : 0; }
  BadValue explain(std::size_t, StatusWord word) const override {
    return bad_value(node_.op, word, node_.operands[0].shape, node_.results[0].shape);
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
      require_slice_inside(whole, node_.results[0].shape, starts, attrs.axes, attrs.steps);
    } else {
      const StridedUpdateAttrs attrs = decode_strided_update(node_.attrs);
      require_slice_inside(whole, node_.operands[1].shape, starts, attrs.axes, attrs.steps);
    }
  }

  ToyDevice& device_;
  Described node_;
};

}  // namespace

std::unique_ptr<const PreparedCall> make_call(const Graph& graph, const Record& record, ToyDevice& device) {
  return std::make_unique<ToyCall>(graph, record, device);
}

}  // namespace lento::toy

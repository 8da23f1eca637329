#include "backend/kept_arguments.h"

#include "ir/slices.h"

#include <utility>

namespace lento {

namespace {

constexpr std::size_t kNumberBytes = 16;  // KernelArguments::numbers

}  // namespace

KeptLaunch::KeptLaunch(const KernelLaunch& launch) : sizes(launch.sizes.begin(), launch.sizes.end()) {
  const KernelArguments& given = launch.arguments;
  const std::size_t operands = launch.kernel->operands.size();
  strides.assign(given.strides, given.strides + operands * launch.kernel->dims);
  addresses.assign(given.addresses, given.addresses + operands);
  const auto* const first = static_cast<const std::byte*>(given.numbers);
  numbers.assign(first, first + launch.kernel->numbers.size() * kNumberBytes);
  if (given.picked != nullptr) picked.assign(given.picked, given.picked + operands);
}

KernelArguments KeptLaunch::arguments() const {
  return {sizes.data(), addresses.data(), strides.data(), numbers.data(), picked.empty() ? nullptr : picked.data()};
}

KeptNode::KeptNode(const Graph& graph, const Record& record)
    : op_(record.op), attrs_(record.attrs), results_(declared_results(graph, record)) {
  for (const OperandRef operand : graph.operands(record)) operands_.push_back(graph.meta_of(operand));
}

void KeptNode::run(const CallArguments& arguments) const {
  std::vector<Scalar> values;
  for (const ScalarArgument* number : arguments.numbers) {
    if (number != nullptr) values.push_back(number->value);
  }
  {
    const NodeContext context(op_);
    require_inside(op_, attrs_, operands_, results_, values);
  }
  auto call = std::make_shared<KeptCall>();
  call->node.op = op_;
  call->node.attrs = attrs_;
  call->status = arguments.status;
  call->numbers.resize(arguments.numbers.size());
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    NodeCall::Tensor operand{arguments.operands[i], operands_[i].dtype, &operands_[i].shape, nullptr};
    if (const ScalarArgument* const number = arguments.numbers[i]) {
      call->numbers[i] = *number;
      operand = {nullptr, number->dtype, nullptr, &call->numbers[i]};
    }
    call->node.operands.push_back(operand);
  }
  for (std::size_t r = 0; r < results_.size(); ++r) {
    call->node.results.push_back({arguments.results[r], results_[r].dtype, &results_[r].shape, nullptr});
  }
  queue(std::move(call));
}

std::size_t KeptNode::status_words() const { return has_value_word(op_) ? 1 : 0; }

BadValue KeptNode::explain(std::size_t, StatusWord word) const {
  return bad_value(op_, word, operands_[0].shape, results_[0].shape);
}

}  // namespace lento

#include "backends/cpu/node_runner.h"

#include "backends/cpu/arena.h"
#include "backends/reference/array.h"
#include "backends/reference/dispatch.h"
#include "base/counters.h"
#include "base/fail.h"
#include "ir/infer.h"
#include "ir/op.h"
#include "ir/op_counters.h"
#include "reference/kernels_creation.gen.h"

#include <cstring>
#include <new>
#include <numeric>
#include <string_view>
#include <vector>

namespace lento::cpu {

namespace {

/// fallback.<op>
const CounterId kFallback = make_op_counters("fallback.");

}  // namespace

NodeValue& NodeRunner::value_of(std::uint32_t node) {
  const auto own = kept_.find(node);
  return own == kept_.end() ? values_[node] : own->second;
}

void NodeRunner::keep(std::uint32_t node) {
  const Record& record = graph_.nodes[node];
  NodeValue& value = kept_[node];
  value.buffer = allocate_cpu(byte_size(record), device_);
  value.data = value.buffer->data();
}

void* NodeRunner::materialise(OperandRef operand, FailureRef& failure) {
  operand = schedule_.home(operand);
  if (operand.kind() == OperandRef::Kind::leaf) {
    const Value& input = *arguments_.inputs[operand.index()];
    failure = input.failure;
    return failure ? nullptr : input.buffer->data();
  }
  const std::uint32_t node = operand.index();
  if (value_of(node).data == nullptr && !value_of(node).failure) run(node, nullptr);
  failure = value_of(node).failure;
  return failure ? nullptr : value_of(node).data;
}

void NodeRunner::run(std::uint32_t node, const FunctionRef<void(std::uint32_t)>* place) {
  const Record& record = graph_.nodes[node];
  std::vector<std::uint32_t> results(graph_.result_count(node));
  std::iota(results.begin(), results.end(), node);
  const auto poison = [&](const FailureRef& failure) {
    for (const std::uint32_t result : results) value_of(result) = {nullptr, {}, failure};
  };
  const reference::KernelContext context(record.op);
  FailureRef failure;
  std::vector<void*> inputs;
  for (const OperandRef operand : graph_.operands(record)) {
    inputs.push_back(operand.kind() == OperandRef::Kind::scalar ? nullptr : materialise(operand, failure));
    if (failure) return poison(failure);
  }
  try {
    for (const std::uint32_t result : results) {
      const Place::Kind kind = schedule_.places[result].kind;
      if (place != nullptr && kind != Place::Kind::none && kind != Place::Kind::tile) {
        (*place)(result);
      } else {
        keep(result);
      }
    }
    compute(node, inputs, results);
  } catch (const Error& error) {
    poison(Failure::make(error.kind(), error.what(), arguments_.sources[graph_.origin(node)]));
  } catch (const std::bad_alloc&) {
    poison(
        Failure::make(ErrorKind::memory, complete_message("out of memory"), arguments_.sources[graph_.origin(node)]));
  }
}

void NodeRunner::compute(std::uint32_t node, std::span<void* const> inputs, std::span<const std::uint32_t> results) {
  const Record& record = graph_.nodes[node];
  const std::span<const OperandRef> operands = graph_.operands(record);
  std::vector<Meta> metas;
  metas.reserve(operands.size());
  std::vector<reference::Argument> arguments;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    metas.push_back(graph_.meta_of(operands[i]));
    if (operands[i].kind() == OperandRef::Kind::scalar) {
      const ScalarArgument& scalar = arguments_.scalars[operands[i].index()];
      arguments.emplace_back(scalar.value, scalar.dtype);
    } else {
      arguments.emplace_back(reference::Array(inputs[i], metas[i].dtype, metas[i].shape));
    }
  }
  // A result nobody asked for is computed all the same, into memory of its own.
  const std::size_t declared = info(record.op).result_count;
  std::vector<Meta> all(declared);
  std::vector<Meta> tensors;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].kind() != OperandRef::Kind::scalar) tensors.push_back(metas[i]);
  }
  if (declared > results.size()) infer_node(record.op, tensors, record.attrs, all);
  std::vector<std::uint32_t> node_of(declared, ~0U);
  node_of[0] = node;
  for (const std::uint32_t result : results.subspan(1)) node_of[graph_.nodes[result].result_index] = result;
  std::vector<BufferRef> unused;
  std::vector<reference::Array> outs;
  for (std::size_t r = 0; r < declared; ++r) {
    if (node_of[r] == ~0U) {
      unused.push_back(allocate_cpu(byte_size(all[r]), device_));
      outs.emplace_back(unused.back()->data(), all[r].dtype, all[r].shape);
    } else {
      const Record& result = graph_.nodes[node_of[r]];
      outs.emplace_back(value_of(node_of[r]).data, result.dtype, shape_of(result.shape));
    }
  }
  if (updates_first_operand(record.op) && outs[0].data() != inputs[0]) {
    std::memcpy(outs[0].data(), inputs[0], byte_size(metas[0]));
  }
  count(kFallback + static_cast<CounterId>(record.op));
  reference::run(record.op, outs, arguments, record.attrs);
}

}  // namespace lento::cpu

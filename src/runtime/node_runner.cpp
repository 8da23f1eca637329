#include "runtime/node_runner.h"

#include "backend/node_call.h"
#include "base/fail.h"
#include "base/fork.h"
#include "ir/op.h"
#include "runtime/fallback.h"

#include <new>
#include <numeric>
#include <vector>

namespace lento {

namespace {

/// Never destroyed: a worker that waits for a device that hangs is still there when the process ends.
struct Failures {
  const FailureRef none;
  const FailureRef unknown = Failure::make(ErrorKind::backend, "an input has failed", {});
};

}  // namespace

const FailureRef& unknown_failure() { return ProcessLifetime<Failures>::get().unknown; }

const FailureRef& why_failed(const Value& input, const DeviceQueues* queues) {
  if (queues == nullptr) return input.failure;
  return input.buffer ? ProcessLifetime<Failures>::get().none : unknown_failure();
}

NodeValue& NodeRunner::value_of(std::uint32_t node) {
  const auto own = kept_.find(node);
  return own == kept_.end() ? values_[node] : own->second;
}

void NodeRunner::keep(std::uint32_t node) {
  const Record& record = graph_.nodes[node];
  NodeValue& value = kept_[node];
  value.buffer = driver_.allocate(byte_size(record));
  value.data = value.buffer->data();
}

void* NodeRunner::materialise(OperandRef operand, FailureRef& failure) {
  operand = schedule_.home(operand);
  if (operand.kind() == OperandRef::Kind::leaf) {
    const Value& input = *arguments_.inputs[operand.index()];
    failure = why_failed(input, queues_);
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
  const NodeContext context(record.op);
  FailureRef failure;
  for (const OperandRef operand : graph_.operands(record)) {
    if (operand.kind() != OperandRef::Kind::scalar) (void)materialise(operand, failure);
    if (failure) return poison(failure);
  }
  try {
    std::vector<BufferRef> unused;
    const auto input = [&](OperandRef operand) { return materialise(operand, failure); };
    const auto put = [&](std::uint32_t result) {
      const Place::Kind kind = schedule_.places[result].kind;
      if (place != nullptr && kind != Place::Kind::none && kind != Place::Kind::tile) {
        (*place)(result);
      } else {
        keep(result);
      }
      return value_of(result).data;
    };
    const auto scratch = [&](std::size_t bytes) {
      unused.push_back(driver_.allocate(bytes));
      return unused.back()->data();
    };
    call_node(graph_, node, arguments_.scalars, input, put, scratch, [this](const NodeCall& call) {
      if (is_fallback_) count_fallback(call.op);
      if (queues_ == nullptr) {
        driver_.run_node(call);
      } else {
        run_node_on_host(call, *queues_);
      }
    });
  } catch (const Error& error) {
    poison(Failure::make(error.kind(), error.what(), arguments_.sources[graph_.origin(node)]));
  } catch (const std::bad_alloc&) {
    poison(
        Failure::make(ErrorKind::memory, complete_message("out of memory"), arguments_.sources[graph_.origin(node)]));
  }
}

}  // namespace lento

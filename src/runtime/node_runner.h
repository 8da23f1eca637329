// NodeRunner: single nodes of a graph, one after the other, for ops that have no code of the device's own and for steps
// in which something failed.
#pragma once

#include "backend/backend.h"
#include "backend/driver.h"
#include "backend/queues.h"
#include "base/function_ref.h"
#include "compiler/schedule.h"

#include <cstdint>
#include <map>
#include <vector>

namespace lento {

/// A node's value while a program runs.
struct NodeValue {
  void* data = nullptr;  // null: not computed yet, or not kept
  BufferRef buffer;      // of outputs, which outlive the run
  FailureRef failure;
};

/// Stands for the failure of an input that has no buffer: which one that is may not be known yet.
const FailureRef& unknown_failure();
/// Why an input cannot be read, or null. With queues only what can no longer change is looked at, since an input may
/// fail while a run that reads it is being issued: whether it has a buffer.
const FailureRef& why_failed(const Value& input, const DeviceQueues* queues);

class NodeRunner {
 public:
  /// `queues` are the device's, if it has any. `is_fallback`: what is computed counts as such.
  NodeRunner(const Graph& graph, const Schedule& schedule, const RunArguments& arguments,
             std::vector<NodeValue>& values, Driver& driver, DeviceQueues* queues, bool is_fallback)
      : graph_(graph),
        schedule_(schedule),
        arguments_(arguments),
        values_(values),
        driver_(driver),
        queues_(queues),
        is_fallback_(is_fallback) {}

  /// Computes a node and its further results. Those that have a place are put there (`place` gives them memory); others
  /// live as long as the runner. A failure poisons exactly this node and its results.
  void run_placed(std::uint32_t node, FunctionRef<void(std::uint32_t)> place) { run(node, &place); }

 private:
  /// `place` is null when nothing is to be put into its place.
  void run(std::uint32_t node, const FunctionRef<void(std::uint32_t)>* place);
  /// The value of an operand in contiguous memory; computes views and numbers on the way. Null when it failed, and then
  /// `failure` is set.
  void* materialise(OperandRef operand, FailureRef& failure);
  /// Where a node's value is kept: with the program's values, or with the runner's own.
  NodeValue& value_of(std::uint32_t node);
  /// Memory for a node that has no place.
  void keep(std::uint32_t node);

  const Graph& graph_;
  const Schedule& schedule_;
  const RunArguments& arguments_;
  std::vector<NodeValue>& values_;
  Driver& driver_;
  DeviceQueues* queues_;
  const bool is_fallback_;
  std::map<std::uint32_t, NodeValue> kept_;  // values that have no place
};

}  // namespace lento

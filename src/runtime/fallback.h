// Ops that a device with queues has no code for: they run on the CPU device, with copies around them.
#pragma once

#include "backend/backend.h"
#include "backend/driver.h"
#include "backend/queues.h"
#include "compiler/compile_options.h"
#include "compiler/schedule.h"
#include "ir/graph.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace lento {

/// Counts an op that a device had no code for: fallback.<op>.
void count_fallback(Op op);

/// Neighbouring calls of a schedule as one program of the CPU device: what only they use never leaves the host.
class FallbackRegion {
 public:
  /// Of the steps `first` to `last`, which are calls without views.
  FallbackRegion(const Graph& graph, const Schedule& schedule, std::uint32_t first, std::uint32_t last,
                 DeviceQueues& queues, const CompileOptions& options);

  const std::uint32_t first;
  const std::uint32_t last;

  /// What it reads of the device's values, and the nodes that it computes for others.
  std::span<const OperandRef> inputs() const { return inputs_; }
  std::span<const std::uint32_t> outputs() const { return outputs_; }

  /// Where an input lies on the device, or why it cannot be read.
  struct Input {
    const void* address;
    FailureRef failure;
  };
  /// Fetches the inputs and computes the outputs, each with its value on the host or its failure. `numbers` and
  /// `sources` are those of the device's run. Blocks until the device has computed the inputs.
  /// When it throws, nothing of the device has changed: the calls can be run one by one.
  std::vector<ValueRef> compute(std::span<const Input> inputs, std::span<const ScalarArgument> numbers,
                                std::span<const Source> sources) const;
  /// Copies the outputs to the device, except those without an address.
  void put(std::span<const ValueRef> outputs, std::span<void* const> addresses) const;

  double nanoseconds() const { return program_->estimated_microseconds() * 1000; }
  std::size_t bytes() const { return program_->bytes(); }

 private:
  DeviceQueues& queues_;
  std::vector<std::uint32_t> origins_;  // of the region's nodes: nodes of the trace
  std::vector<Op> counted_;             // of the steps
  std::vector<OperandRef> inputs_;      // nodes and inputs of the device's graph
  std::vector<std::size_t> input_bytes_;
  std::vector<std::uint32_t> numbers_;  // numbers of the device's graph
  std::vector<std::uint32_t> outputs_;  // nodes of the device's graph
  std::vector<std::size_t> output_bytes_;
  std::unique_ptr<Program> program_;
};

/// A single node, with addresses of the device, by the loops of the reference device. Waits; throws Error.
void run_node_on_host(const NodeCall& call, DeviceQueues& queues);

}  // namespace lento

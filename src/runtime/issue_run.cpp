#include "runtime/issue_run.h"

#include "base/fail.h"
#include "ir/op.h"
#include "runtime/program_run.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace lento {

namespace {

class QueuedRun final : public IssuedRun {
 public:
  QueuedRun(const CompiledProgram& program, FenceRef fence)
      : graph_(program.graph()), schedule_(program.schedule()), fence_(std::move(fence)) {}

  /// What is thrown here is kept, because what had been queued by then goes on, and uses what the run was issued with.
  void queue(const CompiledProgram& program, const RunArguments& arguments) noexcept {
    try {
      ProgramRun run(program, arguments);
      try {
        run.run();
        run.forget_donated();
        known_ = run.known_failures();
      } catch (...) {
        broken_off_ = std::current_exception();
      }
      late_ = run.take_late();
    } catch (...) {
      broken_off_ = std::current_exception();
    }
  }

  const FenceRef& fence() const override { return fence_; }

  void settle(const RunArguments& arguments) override {
    if (broken_off_) std::rethrow_exception(broken_off_);
    const std::span<const ValueRef> inputs = arguments.inputs, outputs = arguments.outputs;
    add_late_failures(arguments.sources);
    const bool all_well = known_.empty() && std::ranges::none_of(inputs, [](const ValueRef& input) {
                            return static_cast<bool>(input->failure);
                          });
    if (all_well) return;
    const std::vector<FailureRef> failures = spread(inputs);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const OperandRef stored = schedule_.same_as[graph_.outputs[k]];
      outputs[k]->failure =
          stored.kind() == OperandRef::Kind::leaf ? inputs[stored.index()]->failure : failures[graph_.outputs[k]];
    }
  }

 private:
  void add_late_failures(std::span<const Source> sources) {
    for (const ProgramRun::Late& late : late_) {
      for (std::size_t i = 0; i < late.nodes.size(); ++i) {
        const LateFailure& failure = late.failures[i];
        if (!failure.failed.load(std::memory_order_acquire)) continue;
        const std::uint32_t node = late.nodes[i];
        const NodeContext context(graph_.nodes[node].op);
        const Source& source = sources[graph_.origin(node)];
        known_.emplace_back(node, Failure::make(failure.kind, complete_message(failure.message), source));
      }
    }
  }

  /// The failure of every node: the first one among its operands, or its own. What is computed from nonsense may fail
  /// too, which nobody is told of.
  std::vector<FailureRef> spread(std::span<const ValueRef> inputs) const {
    std::vector<FailureRef> failures(graph_.nodes.size());
    for (const auto& [node, failure] : known_) {
      for (std::uint32_t r = 0; r < graph_.result_count(node); ++r) failures[node + r] = failure;
    }
    for (std::uint32_t node = 0; node < graph_.nodes.size(); ++node) {
      for (const OperandRef operand : graph_.operands(graph_.nodes[node])) {
        FailureRef inherited;
        if (operand.kind() == OperandRef::Kind::record) inherited = failures[operand.index()];
        if (operand.kind() == OperandRef::Kind::leaf) inherited = inputs[operand.index()]->failure;
        if (!inherited) continue;
        failures[node] = std::move(inherited);
        break;
      }
    }
    return failures;
  }

  const Graph& graph_;
  const Schedule& schedule_;
  std::vector<std::pair<std::uint32_t, FailureRef>> known_;
  std::vector<ProgramRun::Late> late_;
  std::exception_ptr broken_off_;  // why it was not queued to its end
  const FenceRef fence_;
};

}  // namespace

std::unique_ptr<IssuedRun> issue_run(const CompiledProgram& program, DeviceQueues& queues,
                                     const RunArguments& arguments) {
  // Whoever waits for the end of what is queued needs these: they are there before anything is queued.
  auto run = std::make_unique<QueuedRun>(program, queues.make_fence());
  for (const ValueRef& input : arguments.inputs) {
    // What has failed already has no memory that somebody writes, and perhaps no fence of this device.
    if (!input->settled() && input->buffer && input->producer->fence) {
      queues.wait(Queue::compute, input->producer->fence);
    }
  }
  run->queue(program, arguments);
  queues.record(Queue::compute, run->fence());
  return run;
}

}  // namespace lento

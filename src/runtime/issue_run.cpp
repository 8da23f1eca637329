#include "runtime/issue_run.h"

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
      : program_(program), graph_(program.graph()), fence_(std::move(fence)) {
    if (const std::size_t words = program.late_failures().words(); words != 0) {
      status_ = program.driver().status_words(words);
    }
  }

  /// What is thrown here is kept, because what had been queued by then goes on, and uses what the run was issued with.
  void queue(const RunArguments& arguments) noexcept {
    try {
      ProgramRun run(program_, arguments, status_.get());
      run.run();
      run.forget_donated();
      failures_ = run.known_failures();
    } catch (...) {
      broken_off_ = std::current_exception();
    }
  }

  const FenceRef& fence() const override { return fence_; }

  void settle(const RunArguments& arguments) override {
    // The words go before anybody hears that the run has ended.
    const std::unique_ptr<StatusWords> status = std::move(status_);
    if (broken_off_) std::rethrow_exception(broken_off_);
    const std::span<const ValueRef> inputs = arguments.inputs, outputs = arguments.outputs;
    if (status != nullptr) program_.late_failures().read(graph_, status->read(), arguments.sources, failures_);
    const bool all_well = failures_.empty() && std::ranges::none_of(inputs, [](const ValueRef& input) {
                            return static_cast<bool>(input->failure);
                          });
    if (all_well) return;
    const std::vector<FailureRef> failures = spread(inputs);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const OperandRef stored = program_.schedule().same_as[graph_.outputs[k]];
      outputs[k]->failure =
          stored.kind() == OperandRef::Kind::leaf ? inputs[stored.index()]->failure : failures[graph_.outputs[k]];
    }
  }

 private:
  /// The failure of every node: the first one among its operands, or the first one of its own. What is computed from
  /// nonsense may fail too, which nobody is told of.
  std::vector<FailureRef> spread(std::span<const ValueRef> inputs) const {
    std::vector<FailureRef> failures(graph_.nodes.size());
    for (const auto& [node, failure] : failures_) {
      if (failures[node]) continue;
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

  const CompiledProgram& program_;
  const Graph& graph_;
  std::unique_ptr<StatusWords> status_;  // null when nothing can fail later
  NodeFailures failures_;                // those that were known before the device began, and then all
  std::exception_ptr broken_off_;        // why the run was not queued to its end
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
  run->queue(arguments);
  queues.record(Queue::compute, run->fence());
  return run;
}

}  // namespace lento

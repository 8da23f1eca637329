// One run of a program: where every value lies, and which of them failed.
#pragma once

#include "backend/driver.h"
#include "backend/submission.h"
#include "runtime/compiled_program.h"
#include "runtime/node_runner.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace lento {

class ProgramRun {
 public:
  /// `status`: of a device with queues, the words of this run, if it has any.
  ProgramRun(const CompiledProgram& program, const RunArguments& arguments, StatusWords* status = nullptr);
  /// On a device with queues: queues the work and sets the buffers of the outputs, not their failures.
  void run();

  // --- of a device with queues, after run() ---

  /// Lets go of inputs whose memory results have taken: whoever holds such an input must not hold the result's memory.
  void forget_donated();
  /// Failures that were known before the device began. What a node has from an input is not told.
  NodeFailures known_failures() const;

 private:
  // --- values ---

  /// Why an operand cannot be read, or null.
  FailureRef failure_of(OperandRef operand) const;
  bool failed(OperandRef operand) const;
  std::byte* address(OperandRef operand) const;
  /// Of a device with queues: as much memory as an operand has that failed, with anything in it.
  std::byte* stand_in(OperandRef operand);
  /// Gives a node that is about to be computed its memory.
  void place(std::uint32_t node);
  /// Where a temporary lies.
  std::byte* temporary(const Place& place) const;
  /// Where a node's value will lie; null when that is not known yet.
  const std::byte* expected_address(std::uint32_t node) const;
  /// All that these steps compute has failed.
  void poison(std::uint32_t first, std::uint32_t last, ErrorKind kind, const char* message);
  /// Calls the function, which computes these steps. False when it throws: then all of them have failed.
  template <class Function>
  bool or_poison(std::uint32_t first, std::uint32_t last, Function run_steps);
  /// How far the starts move a view, in elements; nothing when a position lies outside.
  std::optional<std::int64_t> offset(const std::vector<DynamicStart>& starts) const;
  void hand_out() const;

  // --- steps ---

  /// Runs a kernel, or all of a chain of kernels.
  void run_kernels(std::uint32_t first, std::uint32_t last);
  /// Runs the kernels of a batch; one by one when they do not go together.
  void run_batch(const Turn& batch);
  bool bind_batch(const Turn& batch);
  /// Where the operands of the kernels lie that come from outside; false when they have to run node by node, because
  /// one of them failed. A device with queues computes beside a failure, as it does beside those that it finds itself:
  /// nothing is known to be wrong with what does not depend on it.
  bool find_operands(std::uint32_t first, std::uint32_t last);
  /// Whether all positions by which a kernel picks rows exist.
  bool positions_fit(const KernelStep& step) const;
  /// Gives the results memory and makes the launches complete.
  void bind(std::uint32_t first, std::uint32_t last);
  void launch(std::uint32_t first);
  void count_launch() const;
  /// False when something it reads has failed; then running it alone finds out what. A device with queues leaves it
  /// out.
  bool run_call(std::uint32_t number, const Step& step);
  /// Runs neighbouring calls on the CPU device; one by one when that fails as a whole.
  void run_fallback(const FallbackRegion& region);
  /// Runs a call that has no code of the device's own.
  void run_call_alone(std::uint32_t number);
  /// Runs the nodes of steps one by one: a call, or kernels that something they read has failed for.
  void run_alone(std::uint32_t first, std::uint32_t last);
  /// A kernel may write a result where an operand lies; node by node that would be too early, so the operand moves.
  void keep_overwritten(const KernelStep& step);
  /// Around what is queued, on a device with queues; the host may wait after the end.
  void begin_submission();
  void end_submission();
  /// The status words of a step; null when it has none.
  StatusWord* status_of(std::uint32_t step) const;

  // --- donation ---

  /// Results of a step take the memory of inputs that nobody needs any more.
  void take_donated(std::uint32_t number);
  /// Counts an update of a temporary that happens in its memory; one of an input is counted as a donation is.
  void note_update(const Step& step) const;

  /// A kernel, or a chain of kernels, with its arguments.
  struct BoundKernels {
    std::vector<void*> addresses;  // of all operands, kernel by kernel
    std::vector<std::byte> numbers;
    std::vector<TileOperand> tile_operands;
    std::vector<KernelLaunch> launches;
  };
  /// What CallArguments refers to.
  struct BoundCall {
    std::vector<void*> operands;
    std::vector<const ScalarArgument*> numbers;
    std::vector<void*> results;
    std::vector<std::uint8_t> inputs;
  };

  const CompiledProgram& program_;
  Driver& driver_;
  const Graph& graph_;
  const Schedule& schedule_;
  const RunArguments& arguments_;
  DeviceQueues* queues_;
  StatusWords* status_;
  std::vector<NodeValue> values_;          // one per node
  std::vector<BufferRef> output_buffers_;  // one per output
  std::vector<std::uint8_t> given_;        // one per input: its memory may still be taken
  BufferRef block_;                        // of temporaries
  std::vector<BufferRef> stand_ins_;       // the last one is the largest
  BoundKernels kernels_;                   // what runs next, or ran last: the memory of these is used again
  BoundCall call_;
  std::optional<Submission> submission_;  // ends before the memory above goes
};

}  // namespace lento

// Run: one execution of a plan. It waits for the values it reads, not for a device; whoever holds its results waits for
// its completion.
#pragma once

#include "base/value.h"
#include "executor/plan.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace lento {

struct Run final : CompletionListener {
  PlanPtr plan;
  std::vector<ValueRef> inputs;         // released when the run ends
  std::vector<std::uint8_t> donated;    // see RunArguments
  std::vector<ScalarArgument> scalars;
  std::vector<ValueRef> outputs;        // futures on `completion`
  CompletionRef completion = Completion::make();
  std::atomic<std::uint32_t> waits_for{1};  // unfinished producers of inputs, and 1 until it is launched

  /// A producer of an input has finished.
  void completed() override;
  /// Runs now, on this thread.
  void execute();
};

/// Starts a run as soon as its inputs are there: at once on this thread when it is short and they are, else on a worker.
void launch(std::unique_ptr<Run> run);

/// Blocks until every run launched before has ended; throws the first failure that no wait has reported yet.
void wait_for_runs(std::uint8_t device);
/// Blocks while more runs than allowed are under way on the device.
void wait_for_room(std::uint8_t device);

std::uint32_t max_inflight_steps();
void set_max_inflight_steps(std::uint32_t limit);

}  // namespace lento

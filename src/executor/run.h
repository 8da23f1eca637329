// Run: one execution of a plan. It waits for the values it reads, not for a device; whoever holds its results waits for
// its completion.
#pragma once

#include "base/interrupt.h"
#include "base/value.h"
#include "executor/evaluate.h"
#include "executor/plan.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace lento {

using SourceList = std::shared_ptr<const std::vector<Source>>;

struct Run final : CompletionListener {
  PlanPtr plan;
  std::vector<ValueRef> inputs;  // released when the run ends
  std::vector<ScalarArgument> scalars;
  std::vector<ValueRef> outputs;  // futures on `completion`
  SourceList sources;             // the lines of this trace, one per node; the plan may come from another one
  CompletionRef completion = Completion::make();
  std::atomic<std::uint32_t> waits_for{1};  // unfinished producers of inputs, and 1 until it is launched
  bool queued = false;                      // set by launch: it stands among the runs under way
  // Neighbours among the runs under way on its device; guarded by that list's lock.
  Run* previous = nullptr;
  Run* next = nullptr;

  /// A producer of an input has finished.
  void completed() override;
  /// Runs now, on this thread.
  void execute();
};

/// Starts a run as soon as its inputs are there: at once on this thread when it is short and they are, else on a
/// worker. For a caller that waits for the end, more is short; a front end's lock is let go meanwhile, by `blocking`.
/// A run that is done is left to the caller, who destroys it and then `blocking` once it may block.
CompletionRef launch(std::unique_ptr<Run>& run, AfterLaunch next, std::optional<Blocking>& blocking) noexcept;

/// Blocks until every run launched before has ended.
void let_runs_end(std::uint8_t device);
/// The oldest failure on the device that nobody has been told of, or null. The caller tells.
FailureRef take_failure(std::uint8_t device);
/// Blocks until the run has ended. The failure that began in it, or null; the caller tells.
FailureRef wait_for_run(std::uint8_t device, const CompletionRef& completion);
/// Blocks while as many runs as allowed are under way on the device.
void wait_for_room(std::uint8_t device);
/// What the runs under way on the device may still allocate, at most.
std::size_t planned_bytes_under_way(std::uint8_t device);

std::uint32_t max_inflight_steps();
void set_max_inflight_steps(std::uint32_t limit);

}  // namespace lento

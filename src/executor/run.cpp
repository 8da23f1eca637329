#include "executor/run.h"

#include "base/counters.h"
#include "base/fail.h"
#include "base/timings.h"
#include "base/usable_devices.h"
#include "executor/fallbacks.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace lento {

namespace {

/// Shorter than this and a worker's wake-up costs more than the run (measured: 6 µs for the one who wakes it).
constexpr double kInlineMicroseconds = 20;
// A caller that waits has nothing better to do; but it can be interrupted only between runs. An estimate may be far too
// low, so that less is left to it.
constexpr double kInlineEstimatedWhenWaiting = 500;
constexpr double kInlineMeasuredWhenWaiting = 20'000;

const CounterId kInline = counter_id("launch.inline");
const CounterId kQueued = counter_id("launch.worker");
const CounterId kEvaluated = counter_id("tensor.evaluated");
const CounterId kNodes = counter_id("graph.nodes");
const TimingId kRunTime = timing_id("run");

}  // namespace

Run::Run(PlanPtr of) : Work(of->device), plan(std::move(of)) {}

std::size_t Run::planned_bytes() const { return plan->program->planned_peak(); }

FenceRef Run::start() noexcept {
  try {
    const TimedSection timed(kRunTime);
    // Only now is it known who else holds an input: a value that was still being computed when the run was bound was
    // held by its producer as well.
    std::vector<std::uint8_t> donated(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      donated[i] = inputs[i]->held_once() && inputs[i]->buffer && inputs[i]->buffer->unique();
    }
    issued = plan->program->issue({inputs, donated, scalars, outputs, *sources});
    if (issued != nullptr) return issued->fence();
    plan->last_microseconds.store(std::chrono::duration<float, std::micro>(timed.so_far()).count(),
                                  std::memory_order_relaxed);
  } catch (...) {
    poison(*this, failure_of_exception(*this));
  }
  return {};
}

void count_run(const Run& run) {
  count(kEvaluated, run.outputs.size());
  count(kNodes, run.plan->graph.nodes.size());
  if (!run.plan->program->fallbacks().empty()) note_fallbacks(*run.plan, *run.sources);
}

FenceRef Run::settle() noexcept {
  try {
    issued->settle({inputs, {}, scalars, outputs, *sources});
  } catch (...) {
    const FailureRef failure = failure_of_exception(*this);
    for (const ValueRef& output : outputs) output->failure = failure;
  }
  if (const FailureRef failure = why_unusable(device)) {
    for (const ValueRef& output : outputs) output->failure = failure;
  }
  return {};
}

namespace {

enum class Where : std::uint8_t { here, here_without_locks, worker };

/// The one decision where a run happens, for every way of evaluating and reading. What the last run of the plan took is
/// believed over the estimate, wherever it ran.
Where where_to_run(const Run& run, AfterLaunch next) {
  if (!std::ranges::all_of(run.inputs, [](const ValueRef& input) { return input->issued(); })) return Where::worker;
  const double estimate = run.plan->program->estimated_microseconds();
  // Nothing is known of a program that may wait for something, however short its last run was.
  if (!std::isfinite(estimate)) return Where::worker;
  // The device computes, this thread only tells it what.
  if (backend_of(run.device).queues(run.device) != nullptr) return Where::here;
  const float last = run.plan->last_microseconds.load(std::memory_order_relaxed);
  const bool measured = last > 0;
  const double expected = measured ? last : estimate;
  if (expected <= kInlineMicroseconds) return Where::here;
  if (next == AfterLaunch::go_on) return Where::worker;
  const double limit = measured ? kInlineMeasuredWhenWaiting : kInlineEstimatedWhenWaiting;
  return expected <= limit ? Where::here_without_locks : Where::worker;
}

}  // namespace

CompletionRef Launch::start(std::unique_ptr<Run> run, AfterLaunch next) noexcept {
  CompletionRef completion = run->completion;
  if (const Where where = where_to_run(*run, next); where != Where::worker) {
    count(kInline);
    std::optional<HostComputes> computes;
    if (where == Where::here_without_locks) {
      blocking_.emplace();
      computes.emplace();
    }
    Run* const started = run.release();
    if (start_here(*started)) done_.reset(started);
    return completion;
  }
  count(kQueued);
  start_when_ready(std::move(run));
  return completion;
}

}  // namespace lento

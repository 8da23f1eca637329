#include "executor/run.h"

#include "base/counters.h"
#include "base/devices.h"
#include "base/fail.h"
#include "base/fork.h"
#include "base/timings.h"
#include "executor/syncs.h"
#include "executor/workers.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

namespace lento {

namespace {

/// Shorter than this and a worker's wake-up costs more than the run (measured: 6 µs for the one who wakes it).
constexpr double kInlineMicroseconds = 20;
// A caller that waits has nothing better to do; but it can be interrupted only between runs. What a run took last time
// is believed more than an estimate.
constexpr double kInlineMicrosecondsWhenWaiting = 500;
constexpr double kInlineMeasuredWhenWaiting = 20'000;

const CounterId kInline = counter_id("launch.inline");
const CounterId kQueued = counter_id("launch.worker");
const CounterId kRoomWaits = counter_id("sync.room");
const TimingId kRunTime = timing_id("run");
const TimingId kRoomTime = timing_id("sync.room");

/// Runs under way on one device, and what went wrong on it since the last wait.
struct DeviceRuns {
  ForkMutex mutex{ForkOrder::runs};
  Run* first = nullptr;  // oldest; linked through the runs, so that launching cannot fail for lack of memory
  Run* last = nullptr;
  std::size_t count = 0;
  std::size_t planned_bytes = 0;
  std::deque<FailureRef> unreported;  // oldest first

  void add(Run& run) {
    const std::lock_guard lock(mutex);
    run.previous = last;
    (last == nullptr ? first : last->next) = &run;
    last = &run;
    ++count;
    planned_bytes += run.plan->program->planned_peak();
  }
  void remove(Run& run) {
    const std::lock_guard lock(mutex);
    (run.previous == nullptr ? first : run.previous->next) = run.next;
    (run.next == nullptr ? last : run.next->previous) = run.previous;
    --count;
  }
  /// What a run was going to allocate has been, and most of it has been freed again.
  void release_planned(const Run& run) {
    const std::lock_guard lock(mutex);
    planned_bytes -= run.plan->program->planned_peak();
  }
};
DeviceRuns& runs_of(std::uint8_t device) { return Lasting<std::array<DeviceRuns, kMaxDevices>>::get()[device]; }
constexpr std::size_t kMaxUnreported = 100;  // failures
std::atomic<std::uint32_t> inflight_limit{16};

void poison(const Run& run, ErrorKind kind, const std::string& message) {
  const FailureRef failure = Failure::make(kind, message, {});
  for (const ValueRef& output : run.outputs) {
    output->buffer.reset();
    output->failure = failure;
  }
}

/// A failure that began in this run; older poison has been reported where it began.
FailureRef own_failure(const Run& run) {
  for (const ValueRef& output : run.outputs) {
    if (!output->failure) continue;
    const bool inherited =
        std::ranges::any_of(run.inputs, [&](const ValueRef& input) { return input->failure == output->failure; });
    if (!inherited) return output->failure;
  }
  return {};
}

}  // namespace

void Run::execute() {
  try {
    const TimedSection timed(kRunTime);
    // Only now is it known who else holds an input: a value that was still being computed when the run was bound was
    // held by its producer as well.
    std::vector<std::uint8_t> donated(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      donated[i] =
          inputs[i]->refs.load(std::memory_order_acquire) == 1 && inputs[i]->buffer && inputs[i]->buffer->unique();
    }
    plan->program->run({inputs, donated, scalars, outputs, *sources});
    plan->last_microseconds.store(std::chrono::duration<float, std::micro>(timed.so_far()).count(),
                                  std::memory_order_relaxed);
  } catch (const Error& error) {
    poison(*this, error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    poison(*this, ErrorKind::memory, "out of memory while running a step");
  } catch (const std::exception& error) {
    poison(*this, ErrorKind::backend, error.what());
  }
  if (FailureRef failure = own_failure(*this)) {
    completion->failure = failure;
    DeviceRuns& runs = runs_of(plan->device);
    const std::lock_guard lock(runs.mutex);
    // A program that never asks must not collect them for ever.
    if (runs.unreported.size() < kMaxUnreported) runs.unreported.push_back(std::move(failure));
  }
  // Whoever waits for the end finds the memory of inputs free, and outputs held by nobody but their tensors. A caller
  // that ran this itself lets go of the inputs when it may block: a front end may need a lock for that.
  if (queued) inputs.clear();
  outputs.clear();
  if (queued) runs_of(plan->device).release_planned(*this);
  completion->finish();
}

void Run::completed() {
  if (waits_for.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  submit(Workers::run, [this] {
    const std::unique_ptr<Run> owned(this);
    owned->execute();
    runs_of(owned->plan->device).remove(*owned);
  });
}

namespace {

enum class Where : std::uint8_t { here, here_without_locks, worker };

Where where_to_run(const Run& run, AfterLaunch next) {
  if (!std::ranges::all_of(run.inputs, [](const ValueRef& input) { return input->settled(); })) return Where::worker;
  const double estimate = run.plan->program->estimated_microseconds();
  const bool waits = next == AfterLaunch::wait;
  if (estimate <= (waits ? kInlineMicrosecondsWhenWaiting : kInlineMicroseconds)) return Where::here;
  const float last = run.plan->last_microseconds.load(std::memory_order_relaxed);
  return waits && std::isfinite(estimate) && last > 0 && last <= kInlineMeasuredWhenWaiting ? Where::here_without_locks
                                                                                            : Where::worker;
}

}  // namespace

CompletionRef launch(std::unique_ptr<Run>& run, AfterLaunch next, std::optional<Blocking>& blocking) noexcept {
  CompletionRef completion = run->completion;
  if (const Where where = where_to_run(*run, next); where != Where::worker) {
    count(kInline);
    if (where == Where::here_without_locks) blocking.emplace();
    run->execute();
    return completion;
  }
  count(kQueued);
  run->queued = true;
  runs_of(run->plan->device).add(*run);
  for (const ValueRef& input : run->inputs) {
    if (input->settled()) continue;
    run->waits_for.fetch_add(1, std::memory_order_relaxed);
    bool listens = false;
    try {
      listens = input->producer->add_listener(run.get());
    } catch (const std::bad_alloc&) {
      while (!input->settled()) std::this_thread::yield();  // no memory to be told of the end: then wait for it here
    }
    if (!listens) run->waits_for.fetch_sub(1, std::memory_order_relaxed);
  }
  // From here on a producer may start the run, and end it, at any moment.
  run.release()->completed();
  return completion;
}

FailureRef wait_for_run(std::uint8_t device, const CompletionRef& completion) {
  completion->wait();
  if (completion->failure) {
    DeviceRuns& runs = runs_of(device);
    const std::lock_guard lock(runs.mutex);
    std::erase(runs.unreported, completion->failure);
  }
  return completion->failure;
}

void let_runs_end(std::uint8_t device) {
  DeviceRuns& runs = runs_of(device);
  std::vector<CompletionRef> pending;
  {
    const std::lock_guard lock(runs.mutex);
    pending.reserve(runs.count);
    for (const Run* run = runs.first; run != nullptr; run = run->next) pending.push_back(run->completion);
  }
  for (const CompletionRef& completion : pending) completion->wait();
}

FailureRef take_failure(std::uint8_t device) {
  DeviceRuns& runs = runs_of(device);
  const std::lock_guard lock(runs.mutex);
  if (runs.unreported.empty()) return {};
  FailureRef oldest = std::move(runs.unreported.front());
  runs.unreported.pop_front();
  return oldest;
}

void wait_for_room(std::uint8_t device) {
  DeviceRuns& runs = runs_of(device);
  std::optional<TimedSection> timed;
  while (true) {
    CompletionRef oldest;
    {
      const std::lock_guard lock(runs.mutex);
      if (runs.count < inflight_limit.load(std::memory_order_relaxed)) break;
      oldest = runs.first->completion;
    }
    if (!timed && !oldest->done()) {
      count(kRoomWaits);
      timed.emplace(kRoomTime);
    }
    oldest->wait();
    std::this_thread::yield();  // a run that has just ended may still stand in the list
  }
  if (timed) note_wait(WaitKind::room, current_call.source, timed->so_far());
}

std::size_t planned_bytes_under_way(std::uint8_t device) {
  DeviceRuns& runs = runs_of(device);
  const std::lock_guard lock(runs.mutex);
  return runs.planned_bytes;
}

std::uint32_t max_inflight_steps() { return inflight_limit.load(std::memory_order_relaxed); }
void set_max_inflight_steps(std::uint32_t limit) { inflight_limit.store(limit, std::memory_order_relaxed); }

}  // namespace lento

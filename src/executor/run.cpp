#include "executor/run.h"

#include "base/counters.h"
#include "base/fail.h"
#include "base/fork.h"
#include "executor/workers.h"
#include "tensor/tapes.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <set>

namespace lento {

namespace {

/// Shorter than this and a worker's wake-up costs more than the run (measured: 6 µs for the one who wakes it).
constexpr double kInlineMicroseconds = 20;

const CounterId kInline = counter_id("launch.inline");
const CounterId kQueued = counter_id("launch.worker");

/// Runs under way on one device, and what went wrong on it since the last wait.
struct DeviceRuns {
  std::mutex mutex;
  std::set<Completion*> under_way;
  FailureRef unreported;
};
DeviceRuns& runs_of(std::uint8_t device) {
  static auto* all = [] {
    auto* made = new std::array<DeviceRuns, kMaxDevices>;  // workers may end after static destructors
    for (DeviceRuns& runs : *made) lock_while_forking(runs.mutex, ForkOrder::runs);
    return made;
  }();
  return (*all)[device];
}
std::atomic<std::uint32_t> inflight_limit{16};

void report(std::uint8_t device, const FailureRef& failure) {
  DeviceRuns& runs = runs_of(device);
  const std::lock_guard lock(runs.mutex);
  if (!runs.unreported) runs.unreported = failure;
}

void remove_run(std::uint8_t device, Completion* completion) {
  DeviceRuns& runs = runs_of(device);
  const std::lock_guard lock(runs.mutex);
  runs.under_way.erase(completion);
}

void poison(const Run& run, ErrorKind kind, const std::string& message) {
  const FailureRef failure = Failure::make(kind, message, {});
  for (const ValueRef& output : run.outputs) {
    output->buffer.reset();
    output->failure = failure;
  }
}

}  // namespace

void Run::execute() {
  try {
    plan->program->run({inputs, donated, scalars, outputs});
  } catch (const Error& error) {
    poison(*this, error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    poison(*this, ErrorKind::memory, "out of memory while running a step");
  } catch (const std::exception& error) {
    poison(*this, ErrorKind::backend, error.what());
  }
  FailureRef own;  // a failure that began here; older poison has been reported where it began
  for (const ValueRef& output : outputs) {
    if (!output->failure) continue;
    const bool inherited = std::any_of(inputs.begin(), inputs.end(), [&](const ValueRef& input) { return input->failure == output->failure; });
    if (!inherited) own = output->failure;
  }
  if (own) report(plan->device, own);
  inputs.clear();
  outputs.clear();
  completion->finish();
}

void Run::completed() {
  if (waits_for.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  submit([this] {
    const std::unique_ptr<Run> owned(this);
    owned->execute();
    remove_run(owned->plan->device, owned->completion.get());
  });
}

void launch(std::unique_ptr<Run> run) {
  const bool ready = std::ranges::all_of(run->inputs, [](const ValueRef& input) { return input->settled(); });
  if (ready && run->plan->program->estimated_microseconds() <= kInlineMicroseconds) {
    count(kInline);
    run->execute();
    return;
  }
  count(kQueued);
  {
    DeviceRuns& runs = runs_of(run->plan->device);
    const std::lock_guard lock(runs.mutex);
    runs.under_way.insert(run->completion.get());
  }
  for (const ValueRef& input : run->inputs) {
    if (input->settled()) continue;
    run->waits_for.fetch_add(1, std::memory_order_relaxed);
    if (!input->producer->add_listener(run.get())) run->waits_for.fetch_sub(1, std::memory_order_relaxed);
  }
  // From here on a producer may start the run, and end it, at any moment.
  run.release()->completed();
}

void wait_for_runs(std::uint8_t device) {
  DeviceRuns& runs = runs_of(device);
  std::vector<CompletionRef> pending;
  {
    const std::lock_guard lock(runs.mutex);
    for (Completion* completion : runs.under_way) pending.push_back(CompletionRef::share(completion));
  }
  for (const CompletionRef& completion : pending) completion->wait();
  FailureRef failure;
  {
    const std::lock_guard lock(runs.mutex);
    failure = std::exchange(runs.unreported, {});
  }
  if (failure) failure->raise();
}

void wait_for_room(std::uint8_t device) {
  DeviceRuns& runs = runs_of(device);
  while (true) {
    CompletionRef any;
    {
      const std::lock_guard lock(runs.mutex);
      if (runs.under_way.size() <= inflight_limit.load(std::memory_order_relaxed)) return;
      any = CompletionRef::share(*runs.under_way.begin());
    }
    any->wait();
  }
}

std::uint32_t max_inflight_steps() { return inflight_limit.load(std::memory_order_relaxed); }
void set_max_inflight_steps(std::uint32_t limit) { inflight_limit.store(limit, std::memory_order_relaxed); }

}  // namespace lento

#include "executor/work.h"

#include "backend/backend.h"
#include "base/counters.h"
#include "base/devices.h"
#include "base/fork.h"
#include "base/format.h"
#include "base/source.h"
#include "base/timings.h"
#include "base/usable_devices.h"
#include "executor/syncs.h"
#include "executor/workers.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <thread>
#include <utility>

namespace lento {

namespace {

const CounterId kRoomWaits = counter_id("sync.room");
const TimingId kRoomTime = timing_id("sync.room");

constexpr std::size_t kMaxUnreported = 100;  // failures

/// Work under way on one device, and what went wrong on it since the last wait.
struct DeviceWork {
  ForkMutex mutex{ForkOrder::runs};
  Work* first = nullptr;  // oldest; linked through the work, so that launching cannot fail for lack of memory
  Work* last = nullptr;
  std::size_t count = 0;
  std::size_t planned_bytes = 0;
  std::vector<FailureRef> unreported;  // oldest first; has room for all, so that to fail needs no memory

  DeviceWork() { unreported.reserve(kMaxUnreported); }

  void add(Work& work) {
    const std::lock_guard lock(mutex);
    work.previous = last;
    (last == nullptr ? first : last->next) = &work;
    last = &work;
    work.is_listed = true;
    work.found_on = work.runs_on();
    work.is_counted = work.counts();
    if (work.is_counted) ++count;
    work.planned = work.planned_bytes();
    planned_bytes += work.planned;
  }
  void remove(Work& work) {
    const std::lock_guard lock(mutex);
    (work.previous == nullptr ? first : work.previous->next) = work.next;
    (work.next == nullptr ? last : work.next->previous) = work.previous;
    if (work.is_counted) --count;
  }
  /// What it was going to allocate has been, and most of it has been freed again.
  void release_planned(Work& work) {
    const std::lock_guard lock(mutex);
    planned_bytes -= std::exchange(work.planned, 0);
  }
};
DeviceWork& work_on(std::uint8_t device) { return ProcessLifetime<std::array<DeviceWork, kMaxDevices>>::get()[device]; }
std::atomic<std::uint32_t> inflight_limit{16};

/// A failure that began in this work; older poison has been reported where it began. The loss of the device that does
/// it poisons what it reads as well, and is its own all the same.
FailureRef own_failure(const Work& work) {
  FailureRef loss = why_unusable(work.runs_on());
  for (const ValueRef& output : work.outputs) {
    if (!output->failure) continue;
    if (output->failure == loss) return loss;
    // Work that could not start ends before its inputs do.
    const bool inherited = std::ranges::any_of(
        work.inputs, [&](const ValueRef& input) { return input->settled() && input->failure == output->failure; });
    if (!inherited) return output->failure;
  }
  return {};
}

/// Asks the producers of inputs to tell when they have reached the stage; `count` is how many will.
void listen(const std::vector<ValueRef>& inputs, Stage stage, CompletionListener& listener,
            std::atomic<std::uint32_t>& count) {
  const auto reached = [stage](const Value& value) {
    return stage == Stage::issued ? value.issued() : value.settled();
  };
  for (const ValueRef& input : inputs) {
    if (reached(*input)) continue;
    count.fetch_add(1, std::memory_order_relaxed);
    bool listens = false;
    try {
      listens = input->producer->add_listener(&listener, stage);
    } catch (const std::bad_alloc&) {
      while (!reached(*input)) std::this_thread::yield();  // no memory to be told of it: then wait for it here
    }
    if (!listens) count.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace

FailureRef failure_of_exception(const Work& work) noexcept {
  // The line that made a result is better than none.
  const Source source = work.outputs.empty() ? Source() : work.outputs.front()->info.source;
  try {
    try {
      throw;
    } catch (const Error& error) {
      return Failure::make(error.kind(), error.what(), source);
    } catch (const std::bad_alloc&) {
      return Failure::make(ErrorKind::memory, "out of memory while running a step", source);
    } catch (const std::exception& error) {
      return Failure::make(ErrorKind::backend, error.what(), source);
    }
  } catch (const std::bad_alloc&) {
    return Failure::make(ErrorKind::memory, "out of memory", source);  // short enough to lie in the string itself
  }
}

void poison(Work& work, FailureRef failure) {
  if (FailureRef loss = why_unusable(work.device)) failure = std::move(loss);
  for (const ValueRef& output : work.outputs) {
    output->buffer.reset();
    output->failure = failure;
  }
}

Work::~Work() {
  if (is_listed) work_on(device).remove(*this);
}

void Work::completed() {
  if (waits_for_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  submit(Workers::run, [this] { begin(); });
}

void Work::begin() {
  std::optional<HostComputes> computes;
  if (backend_of(device).queues(device) == nullptr) computes.emplace();
  if (FenceRef fence = start()) {
    computes.reset();
    follow(std::move(fence));
  } else {
    end();
  }
}

void Work::follow(FenceRef fence) {
  for (const ValueRef& output : outputs) output->held_by_work.store(true, std::memory_order_release);
  rest_.count.store(2, std::memory_order_relaxed);  // the fence, and this function
  listen(inputs, Stage::done, rest_, rest_.count);
  if (is_issued()) {
    work_on(device).release_planned(*this);
    completion->issue(fence);
  }
  fence->then(rest_);
  rest_.completed();
}

void Work::Rest::completed() {
  if (count.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (FenceRef next = work.settle()) {
    work.follow(std::move(next));
  } else {
    work.end();
  }
}

void Work::report_failure() {
  FailureRef failure = own_failure(*this);
  if (!failure) return;
  completion->failure = failure;
  if (failure == why_unusable(device)) return;  // take_failure() finds it
  DeviceWork& all = work_on(device);
  const std::lock_guard lock(all.mutex);
  // A program that never asks must not collect them for ever.
  if (all.unreported.size() < kMaxUnreported) all.unreported.push_back(std::move(failure));
}

void Work::end() {
  std::unique_ptr<Work> owned(this);
  report_failure();
  // Whoever waits for the end finds the memory of inputs free, and outputs held by nobody but their tensors.
  inputs.clear();
  for (const ValueRef& output : outputs) output->held_by_work.store(false, std::memory_order_release);
  outputs.clear();
  work_on(device).release_planned(*this);
  completion->finish();
  owned.reset();
  note_progress();
}

void start_when_ready(std::unique_ptr<Work> work) noexcept {
  work_on(work->device).add(*work);
  listen(work->inputs, work->starts_after(), *work, work->waits_for_);
  // From here on a producer may start the work, and end it, at any moment.
  work.release()->completed();
}

bool start_here(Work& work) noexcept {
  const OutsideOfCall outside;  // what fails has the line of its op, and not that of the call which happens to run it
  if (FenceRef fence = work.start()) {
    // Here and not earlier: what is done when start() comes back never stands among the work under way.
    work_on(work.device).add(work);
    work.follow(std::move(fence));
    return false;
  }
  work.report_failure();
  // The inputs are let go of by the caller, when it may block: a front end may need a lock for that.
  work.outputs.clear();
  work.completion->finish();
  return true;
}

FailureRef wait_for_work(std::uint8_t device, const CompletionRef& completion) {
  completion->wait();
  if (completion->failure) {
    DeviceWork& all = work_on(device);
    const std::lock_guard lock(all.mutex);
    std::erase(all.unreported, completion->failure);
    if (completion->failure->kind == ErrorKind::device_lost) (void)is_first_to_tell(completion->failure);
  }
  return completion->failure;
}

void let_work_end(std::uint8_t device) {
  DeviceWork& all = work_on(device);
  std::vector<CompletionRef> pending;
  {
    const std::lock_guard lock(all.mutex);
    for (const Work* work = all.first; work != nullptr; work = work->next) pending.push_back(work->completion);
  }
  for (const CompletionRef& completion : pending) completion->wait();
}

bool let_devices_end(Patience& patience) {
  for (const Device device : devices()) {
    DeviceWork& all = work_on(device.id());
    while (true) {
      {
        const std::lock_guard lock(all.mutex);
        if (all.first == nullptr) break;
      }
      if (!patience.wait()) return false;
    }
  }
  return true;
}

void tell_of_hanging_devices(std::string_view consequence) {
  std::set<std::string> names;
  for (const Device device : devices()) {
    DeviceWork& all = work_on(device.id());
    const std::lock_guard lock(all.mutex);
    for (const Work* work = all.first; work != nullptr; work = work->next) {
      names.insert(RegisteredDevice::of(work->found_on).to_string());
    }
  }
  const std::string where = names.empty() ? "" : fmt::format(" on {}", fmt::join(names, ", "));
  const std::string text = fmt::format("lento: nothing has gone on{} for {:g} seconds: {}\n", where,
                                       std::chrono::duration<double>(patience()).count(), consequence);
  std::fputs(text.c_str(), stderr);
}

void abandon_work_in_child() {
  const FailureRef failure =
      Failure::make(ErrorKind::device,
                    "it was being computed when the process forked, and nothing went on: the child cannot have it", {});
  for (const Device device : devices()) {
    DeviceWork& all = work_on(device.id());
    const std::lock_guard lock(all.mutex);
    all.first = all.last = nullptr;
    all.count = all.planned_bytes = 0;
  }
  std::vector<ValueRef> unsettled = every_value();
  std::erase_if(unsettled, [](const ValueRef& value) { return value->settled(); });
  // What has one producer ends together.
  for (const ValueRef& value : unsettled) value->failure = failure;
  for (const ValueRef& value : unsettled) value->producer->abandon_in_child();
}

FailureRef take_failure(std::uint8_t device) {
  DeviceWork& all = work_on(device);
  FailureRef loss = why_unusable(device);
  const std::lock_guard lock(all.mutex);
  if (loss && loss->kind == ErrorKind::device_lost && is_first_to_tell(loss)) return loss;
  while (!all.unreported.empty()) {
    FailureRef oldest = std::move(all.unreported.front());
    all.unreported.erase(all.unreported.begin());
    // What is copied from a device that is lost fails here too.
    if (oldest->kind != ErrorKind::device_lost || is_first_to_tell(oldest)) return oldest;
  }
  return {};
}

void wait_for_room(std::uint8_t device) {
  DeviceWork& all = work_on(device);
  std::optional<TimedSection> timed;
  while (true) {
    CompletionRef oldest;
    {
      const std::lock_guard lock(all.mutex);
      if (all.count < inflight_limit.load(std::memory_order_relaxed)) break;
      const Work* counted = all.first;
      while (!counted->is_counted) counted = counted->next;
      oldest = counted->completion;
    }
    if (!timed && !oldest->done()) {
      count(kRoomWaits);
      timed.emplace(kRoomTime);
    }
    oldest->wait();
    std::this_thread::yield();  // work that has just ended may still stand in the list
  }
  if (timed) note_wait(WaitKind::room, current_call.source, timed->so_far());
}

std::size_t planned_bytes_under_way(std::uint8_t device) {
  DeviceWork& all = work_on(device);
  const std::lock_guard lock(all.mutex);
  return all.planned_bytes;
}

std::uint32_t max_inflight_steps() { return inflight_limit.load(std::memory_order_relaxed); }
void set_max_inflight_steps(std::uint32_t limit) { inflight_limit.store(limit, std::memory_order_relaxed); }

}  // namespace lento

#include "executor/closures.h"

#include "base/counters.h"
#include "base/devices.h"
#include "base/fail.h"
#include "base/fork.h"
#include "base/interrupt.h"
#include "base/process_end.h"
#include "base/progress.h"
#include "base/source.h"
#include "base/timings.h"
#include "executor/workers.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace lento {

namespace {

const CounterId kRun = counter_id("closure.run");
const CounterId kFailed = counter_id("closure.failed");
const CounterId kDropped = counter_id("closure.dropped");
const TimingId kClosureTime = timing_id("closure");

constexpr std::size_t kDefaultQueue = 100;
std::atomic<std::int64_t> idle_milliseconds{3000};

constinit thread_local int closure_depth = 0;

/// A closure's call, from its first line to its last.
class Call {
 public:
  Call() { ++closure_depth; }
  ~Call() { --closure_depth; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void operator()(const PendingClosure& closure) const {
    count(kRun);
    closure.function(closure.args);
  }

 private:
  OutsideOfCall outside_;
  TimedSection timed_{kClosureTime};
};

class AsyncQueue;
/// The queue whose closure the calling thread runs, from its start until its failure, if any, is known.
constinit thread_local AsyncQueue* calling_queue = nullptr;

/// The asynchronous closures of one device: a bounded queue and a thread that comes and goes with the work.
class AsyncQueue {
 public:
  /// Moves from `closure` only when it takes it.
  void submit(PendingClosure& closure) {
    const std::size_t limit = max_async_closures();
    std::exception_ptr cause;
    {
      std::unique_lock lock(mutex_);
      // A closure that submits must not wait for itself to end.
      if (!on_worker()) {
        wait_interruptibly(changed_, lock, [&] { return failure_ || (!failing_ && queue_.size() < limit); });
      }
      if (!failure_) {
        if (!has_worker_) {
          std::thread([this] { work(); }).detach();  // waits for the lock; ends by itself when the next line fails
          has_worker_ = true;
        }
        queue_.push_back(std::move(closure));
        changed_.notify_all();
        return;
      }
      // The error is handed to one submitter; after that everything works again.
      cause = std::exchange(failure_, nullptr);
    }
    throw ClosureError(cause);
  }

  /// The next submitter hears of this failure, if of no other: the one that should have raised had something else to
  /// raise.
  void put_back(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    changed_.notify_all();
  }

  std::exception_ptr take_failure() {
    const std::lock_guard lock(mutex_);
    return std::exchange(failure_, nullptr);
  }

  bool has_worker() {
    const std::lock_guard lock(mutex_);
    return has_worker_;
  }

  void drain() {
    std::unique_lock lock(mutex_);
    if (on_worker()) fail<BackendError>("wait_closures: an asynchronous closure would wait for itself");
    wait_interruptibly(changed_, lock, [this] { return queue_.empty() && !busy_; });
  }

  /// For the end of the process. A closure that ends it cannot be waited for, nor one that reads from a device that
  /// hangs: what is queued behind it is dropped. False when it does hang. A front end may break this off.
  bool finish(Patience& patience) {
    std::deque<PendingClosure> dropped;
    std::unique_lock lock(mutex_);
    bool lasts = true;
    while (!on_worker() && (!queue_.empty() || busy_) && lasts) {
      lock.unlock();
      check_interrupt();
      lasts = patience.wait();
      lock.lock();
    }
    count(kDropped, queue_.size());
    dropped.swap(queue_);
    return lasts;
  }

  /// See closure_is_failing(). On the worker.
  void announce_failure() {
    const std::lock_guard lock(mutex_);
    failing_ = true;
  }

 private:
  /// Needs the lock.
  bool on_worker() const { return worker_ == std::this_thread::get_id(); }

  /// The first that anybody hears of a closure's failure, before anything that the closure held goes and before its
  /// time is counted: whoever knows that it has failed and submits the next one is told so (clause C5).
  void publish(std::exception_ptr failure) {
    calling_queue = nullptr;
    // Both go without the lock: what an exception or a closure holds may call anything when it goes.
    std::exception_ptr older;
    std::deque<PendingClosure> dropped;
    const std::lock_guard lock(mutex_);
    count(kFailed);
    count(kDropped, queue_.size());
    dropped.swap(queue_);
    older = std::exchange(failure_, std::move(failure));
    failing_ = false;
    changed_.notify_all();
  }

  /// False when the closure failed.
  bool run(const PendingClosure& closure) {
    const Call call;
    calling_queue = this;
    // What is published is the last reference that this thread has: whoever takes it may let it go.
    std::exception_ptr failure;
    try {
      const HostComputes computes;
      call(closure);
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure) {
      publish(std::move(failure));
      return false;
    }
    calling_queue = nullptr;
    return true;
  }

  void work() {
    std::unique_lock lock(mutex_);
    worker_ = std::this_thread::get_id();
    while (changed_.wait_for(lock, std::chrono::milliseconds(idle_milliseconds), [this] { return !queue_.empty(); })) {
      PendingClosure closure = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
      changed_.notify_all();
      lock.unlock();
      const bool good = run(closure);
      closure = {};  // its tensors and captures go before anybody hears that it is done
      lock.lock();
      busy_ = false;
      changed_.notify_all();
      if (!good && queue_.empty()) break;
    }
    has_worker_ = false;
    worker_ = {};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PendingClosure> queue_;
  std::exception_ptr failure_;  // of the last closure that failed, until a submitter has heard of it
  std::thread::id worker_;
  bool failing_ = false;  // a closure has failed, and failure_ follows
  bool busy_ = false;
  bool has_worker_ = false;
};

struct DeviceClosures {
  std::mutex mutex;
  std::vector<PendingClosure> waiting;  // for the next step
  AsyncQueue async;
};

using AllClosures = std::array<DeviceClosures, kMaxDevices>;

std::atomic<bool> abandoned{false};

/// What an exception says.
std::string text_of(const std::exception_ptr& exception) {
  const auto or_nothing = [](const char* text) { return std::string(text == nullptr ? "" : text); };
  if (!exception) return "nothing";
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    return or_nothing(error.what());
  } catch (const std::string& text) {
    return text;
  } catch (const char* text) {
    return or_nothing(text);
  } catch (...) {
    return "something that is no std::exception";
  }
}

/// Nothing may leave this: the process would abort instead of ending with its exit code.
void end_closures() noexcept;

/// A forked child has no worker and must not touch locks somebody held: it starts with empty queues.
AllClosures& all_closures() { return PerProcess<AllClosures>::get(); }

DeviceClosures& closures_of(std::uint8_t device) { return all_closures()[device]; }

/// Before the first closure.
void arrange_end() {
  static std::atomic<bool> arranged{false};
  if (arranged.exchange(true)) return;
  prepare_workers();  // closures wait for runs, also at the end of the process
  at_process_end(EndStage::closures, end_closures);
}

void end_closures() noexcept {
  if (abandoned.load()) return;
  try {
    if (!finish_closures()) return;
    for (const std::exception_ptr& failure : take_closure_failures()) {
      std::fprintf(stderr, "lento: an asynchronous step closure failed after the last step: %s\n",
                   text_of(failure).c_str());
    }
  } catch (...) {
    std::fputs("lento: the step closures could not be ended\n", stderr);
  }
}

}  // namespace

ClosureError::ClosureError(std::exception_ptr cause)
    : BackendError(complete_message(fmt::format("{}: {}", kClosureRefused, text_of(cause)))),
      cause_(std::move(cause)) {}

std::size_t max_async_closures() {
  // The second is the name in programs that were written for PyTorch's lazy tensors.
  const char* name = std::getenv("LENTO_MAX_ASYNC_QUEUE") != nullptr ? "LENTO_MAX_ASYNC_QUEUE" : "LTC_MAX_ASYNC_QUEUE";
  const char* text = std::getenv(name);
  if (text == nullptr) return kDefaultQueue;
  std::size_t limit = 0;
  const char* end = text + std::strlen(text);
  const auto [last, error] = std::from_chars(text, end, limit);
  if (error != std::errc() || last != end || limit < 1) {
    fail<ValueError>("{} is '{}'; it must be a whole number of at least 1", name, text);
  }
  return limit;
}

void detail::fail_closure_takes_others(std::size_t count, const std::source_location& site) {
  const CallScope scope("add_step_closure", site);
  fail<ValueError>("the function cannot be called with {} tensor{}", count, count == 1 ? "" : "s");
}

void add_step_closure(StepClosure f, std::vector<Tensor> args, bool run_async, Device device,
                      std::source_location site) {
  const CallScope scope("add_step_closure", site);
  if (!f) fail<ValueError>("the function is empty");
  for (std::size_t i = 0; i < args.size(); ++i) {
    // Refused here: a step that cannot compute the argument of a closure keeps it, and so would every later one.
    if (!args[i].defined()) {
      fail<ValueError>("argument {} is an empty tensor handle, default-constructed or moved from", i);
    }
  }
  arrange_end();
  DeviceClosures& closures = closures_of(device.id());
  const std::lock_guard lock(closures.mutex);
  closures.waiting.push_back({std::move(f), std::move(args), run_async});
}

std::vector<PendingClosure> take_closures(std::uint8_t device) {
  DeviceClosures& closures = closures_of(device);
  const std::lock_guard lock(closures.mutex);
  return std::exchange(closures.waiting, {});
}

void return_closures(std::uint8_t device, std::vector<PendingClosure> taken) {
  DeviceClosures& closures = closures_of(device);
  const std::lock_guard lock(closures.mutex);
  taken.insert(taken.end(), std::make_move_iterator(closures.waiting.begin()),
               std::make_move_iterator(closures.waiting.end()));
  closures.waiting = std::move(taken);
}

void run_closures(std::uint8_t device, std::vector<PendingClosure> closures) {
  AsyncQueue& queue = closures_of(device).async;
  std::exception_ptr rejected;  // a ClosureError
  std::exception_ptr cause;
  for (auto closure = closures.begin(); closure != closures.end(); ++closure) {
    if (!closure->run_async) continue;
    if (rejected) {
      count(kDropped);
      continue;
    }
    try {
      queue.submit(*closure);
    } catch (const ClosureError& error) {
      rejected = std::current_exception();
      cause = error.cause();
      count(kDropped);
    } catch (...) {
      // Interrupted while the queue was full: what has not been handed over waits for the next step.
      closures.erase(std::remove_if(closures.begin(), closure, [](const PendingClosure& c) { return c.run_async; }),
                     closure);
      return_closures(device, std::move(closures));
      throw;
    }
  }
  std::erase_if(closures, [](const PendingClosure& closure) { return closure.run_async; });
  for (auto closure = closures.begin(); closure != closures.end(); ++closure) {
    try {
      const Call call;
      call(*closure);
    } catch (...) {
      count(kDropped, static_cast<std::uint64_t>(closures.end() - closure - 1));
      if (rejected) queue.put_back(std::move(cause));
      throw;
    }
  }
  if (rejected) std::rethrow_exception(rejected);
}

void run_step_closures(Device device, std::source_location site) {
  const CallScope scope("run_step_closures", site);
  run_closures(device.id(), take_closures(device.id()));
}

void wait_closures() {
  for (DeviceClosures& closures : all_closures()) closures.async.drain();
}

std::vector<std::exception_ptr> take_closure_failures() {
  std::vector<std::exception_ptr> failures;
  for (DeviceClosures& closures : all_closures()) {
    if (std::exception_ptr failure = closures.async.take_failure()) failures.push_back(std::move(failure));
  }
  return failures;
}

bool finish_closures() {
  Patience patience;
  bool ended = true;
  for (DeviceClosures& closures : all_closures()) ended &= closures.async.finish(patience);
  if (!ended) {
    tell_of_end_without_devices();
    abandon_closures();
  }
  return ended;
}

void closure_is_failing() {
  if (calling_queue != nullptr) calling_queue->announce_failure();
}

void abandon_closures() { abandoned.store(true); }

void set_closure_idle_time(std::chrono::milliseconds time) { idle_milliseconds = time.count(); }

std::size_t closure_workers() {
  std::size_t workers = 0;
  for (DeviceClosures& closures : all_closures()) workers += closures.async.has_worker() ? 1 : 0;
  return workers;
}

bool inside_closure() { return closure_depth > 0; }

}  // namespace lento

#include "executor/closures.h"

#include "base/counters.h"
#include "base/devices.h"
#include "base/fail.h"
#include "base/interrupt.h"
#include "base/process_end.h"
#include "base/timings.h"
#include "executor/workers.h"

#include <pthread.h>

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

void call(const PendingClosure& closure) {
  struct Depth {
    Depth() { ++closure_depth; }
    ~Depth() { --closure_depth; }
  } const depth;
  count(kRun);
  const TimedSection timed(kClosureTime);
  closure.function(closure.args);
}

/// The asynchronous closures of one device: a bounded queue and a thread that comes and goes with the work.
class AsyncQueue {
 public:
  /// Moves from `closure` only when it takes it.
  void submit(PendingClosure& closure) {
    const std::size_t limit = max_async_closures();
    std::unique_lock lock(mutex_);
    // A closure that submits must not wait for itself to end.
    if (!on_worker()) wait_interruptibly(changed_, lock, [&] { return failure_ || queue_.size() < limit; });
    if (failure_) {
      // The error is handed to one submitter; after that everything works again.
      const std::exception_ptr cause = std::exchange(failure_, nullptr);
      throw ClosureError(cause);
    }
    if (!has_worker_) {
      std::thread([this] { work(); }).detach();  // waits for the lock; ends by itself when the next line fails
      has_worker_ = true;
    }
    queue_.push_back(std::move(closure));
    changed_.notify_all();
  }

  /// The next submitter hears of this failure, if of no other: the one that should have raised had something else to
  /// raise.
  void put_back(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
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

 private:
  /// Needs the lock.
  bool on_worker() const { return worker_ == std::this_thread::get_id(); }

  /// Lets go of what is queued without the lock: what closures captured may call anything when it goes.
  void drop_queue(std::unique_lock<std::mutex>& lock) {
    std::deque<PendingClosure> dropped;
    dropped.swap(queue_);
    lock.unlock();
    dropped.clear();
    lock.lock();
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
      std::exception_ptr failure;
      try {
        call(closure);
      } catch (...) {
        failure = std::current_exception();
      }
      const bool failed = failure != nullptr;
      closure = {};  // its tensors and captures go before anybody hears that it is done
      lock.lock();
      if (failed) {
        count(kFailed);
        count(kDropped, queue_.size());
        // Moved: whoever is the last to hold an exception destroys it, and must not do so with the lock.
        failure_ = std::move(failure);
        drop_queue(lock);
      }
      busy_ = false;
      changed_.notify_all();
      if (failed && queue_.empty()) break;
    }
    has_worker_ = false;
    worker_ = {};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PendingClosure> queue_;
  std::exception_ptr failure_;  // of the last closure that ran, until a submitter has heard of it
  std::thread::id worker_;
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

void tell_at_the_end(const std::exception_ptr& failure) {
  const auto print = [](const char* what) {
    std::fprintf(stderr, "lento: an asynchronous step closure failed after the last step: %s\n", what);
  };
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    print(error.what());
  } catch (...) {
    print("with something that is no std::exception");
  }
}

AllClosures*& all_closures() {
  static AllClosures* all = [] {
    prepare_workers();  // closures wait for runs, also at the end of the process
    at_process_end(EndStage::closures, [] {
      if (abandoned.load()) return;
      wait_closures();
      for (const std::exception_ptr& failure : take_closure_failures()) tell_at_the_end(failure);
    });
    // A forked child has no worker and must not touch locks somebody held: it starts with empty queues.
    pthread_atfork(nullptr, nullptr, [] { all_closures() = std::make_unique<AllClosures>().release(); });
    return new AllClosures;  // never destroyed: workers may outlive static destructors
  }();
  return all;
}

DeviceClosures& closures_of(std::uint8_t device) { return (*all_closures())[device]; }

}  // namespace

ClosureError::ClosureError(std::exception_ptr cause)
    : BackendError("Cannot run asynchronous closure due to previously raised exception"), cause_(std::move(cause)) {}

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

void add_step_closure(StepClosure f, std::vector<Tensor> args, bool run_async, Device device) {
  if (!f) fail<ValueError>("add_step_closure: the function is empty");
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
      call(*closure);
    } catch (...) {
      count(kDropped, static_cast<std::uint64_t>(closures.end() - closure - 1));
      if (rejected) queue.put_back(std::move(cause));
      throw;
    }
  }
  if (rejected) std::rethrow_exception(rejected);
}

void run_step_closures(Device device) { run_closures(device.id(), take_closures(device.id())); }

void wait_closures() {
  for (DeviceClosures& closures : *all_closures()) closures.async.drain();
}

std::vector<std::exception_ptr> take_closure_failures() {
  std::vector<std::exception_ptr> failures;
  for (DeviceClosures& closures : *all_closures()) {
    if (std::exception_ptr failure = closures.async.take_failure()) failures.push_back(std::move(failure));
  }
  return failures;
}

void abandon_closures() { abandoned.store(true); }

void set_closure_idle_time(std::chrono::milliseconds time) { idle_milliseconds = time.count(); }

std::size_t closure_workers() {
  std::size_t workers = 0;
  for (DeviceClosures& closures : *all_closures()) workers += closures.async.has_worker() ? 1 : 0;
  return workers;
}

bool inside_closure() { return closure_depth > 0; }

}  // namespace lento

#include "executor/workers.h"

#include "base/fail.h"
#include "base/fork.h"
#include "base/interrupt.h"
#include "base/process_end.h"
#include "executor/work.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace lento {

namespace {

/// Two independent steps overlap even on one core; more workers than a few only wait for memory.
unsigned worker_count() { return std::clamp(std::thread::hardware_concurrency(), 2U, 4U); }

class Pool {
 public:
  void submit(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) throw std::system_error(std::make_error_code(std::errc::operation_canceled));
      if (idle_ <= tasks_.size() && threads_.size() < worker_count()) {
        try {
          threads_.emplace_back([this] { work(); });
        } catch (const std::system_error&) {
          if (threads_.empty()) throw;  // else those there are get to it
        }
      }
      tasks_.push_back(std::move(task));
    }
    wake_.notify_one();
  }

  /// Ends the threads once everything is done; what is submitted later runs on its submitter's thread. False when the
  /// patience ended first: then some of them are left alone.
  bool stop(Patience& patience) {
    std::vector<std::thread> threads;
    bool drained = false;
    {
      std::unique_lock lock(mutex_);
      drained = drain(lock, patience);
      stopping_ = true;
      threads.swap(threads_);
    }
    wake_.notify_all();
    for (std::thread& thread : threads) drained ? thread.join() : thread.detach();
    return drained;
  }

  /// Before fork: nothing is queued or running, so the child misses nothing. False when the patience ended first.
  bool pause(Patience& patience) {
    std::unique_lock lock(mutex_);
    const bool drained = drain(lock, patience);
    lock.release();
    return drained;
  }
  void resume() { mutex_.unlock(); }

 private:
  bool drain(std::unique_lock<std::mutex>& lock, Patience& patience) {
    while (!tasks_.empty() || busy_ != 0) {
      lock.unlock();
      const bool lasts = patience.wait();
      lock.lock();
      if (!lasts) return false;
    }
    return true;
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      --idle_;
      if (stopping_) return;
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      ++busy_;
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
      --busy_;
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;  // a task arrived, or stopping
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  std::size_t busy_ = 0;
  bool stopping_ = false;
};

using Pools = std::array<Pool, 2>;  // by Workers

// A thread that launches announces it and looks whether a fork wants to begin; a fork does it the other way round. No
// lock: a fork must not wait for ever because some thread or other is always launching.
std::atomic<int> forking{0};    // threads that are on their way through fork()
std::atomic<int> launching{0};  // NoForkNow objects that are alive
// When the process ends, other threads may still be at work. They are let finish what they launch and then stopped
// where they stand: what libraries keep in static objects is about to be destroyed.
std::atomic<bool> ending{false};
std::atomic<std::thread::id> ending_thread{};

bool must_stop() { return ending.load() && ending_thread.load() != std::this_thread::get_id(); }

// Long enough for what other libraries do at the end: an exception in a thread that nobody joins ends the process.
std::atomic<std::chrono::milliseconds> end_of_process{std::chrono::seconds(10)};

/// Stops a thread where it stands. One that nobody waits for goes with the process, and must not end it with an
/// exception that it does not expect; one that is waited for gets one after all.
void stay_stopped() {
  const auto late = std::chrono::steady_clock::now() + end_of_process.load();
  while (must_stop()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (std::chrono::steady_clock::now() >= late) {
      fail<BackendError>("the process is ending: threads that use Lento have to be joined before main returns");
    }
  }
}

Pools*& current_pools();

/// The thread is on its way through a fork that did not wait for everything.
constinit thread_local bool leaves_work_behind = false;

/// What threads are launching, and then what is under way. False when the patience ended first.
bool let_launched_end(Patience& patience) {
  while (launching != 0) {
    if (!patience.wait()) return false;
  }
  // Those of the pools end here too; what starts on a worker may go on on a device.
  return let_devices_end(patience);
}

void before_fork() {
  forking.fetch_add(1);
  // What a task lets go of at its end may need the front end's lock, which a thread that forks holds.
  const Blocking blocking(WhoMayBlock::anybody);
  Patience patience;
  bool ended = let_launched_end(patience);
  for (Pool& pool : *current_pools()) ended &= pool.pause(patience);
  if (!ended) tell_of_hanging_devices("the process forks, and the child will not have what is under way");
  leaves_work_behind = !ended;
}

void after_fork_in_parent() {
  for (Pool& pool : *current_pools()) pool.resume();
  forking.fetch_sub(1);
}

/// The child has none of the threads, and condition variables that they wait on: it starts with pools of its own and
/// leaves the old ones alone.
void after_fork_in_child() {
  current_pools() = std::make_unique<Pools>().release();
  forking = 0;
  launching = 0;  // a thread may have announced itself and not yet seen the fork
  if (leaves_work_behind) abandon_work_in_child();
}

Pools*& current_pools() {
  static Pools* pools = [] {
    install_fork_locks();  // tasks take these locks: a fork waits for the tasks first
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return new Pools;  // never destroyed: late submissions must find them
  }();
  return pools;
}
// Before there are threads: a fork in the middle of making it would leave the child with half of it, and what is
// installed while a fork is on its way is not called in its child.
[[maybe_unused]] Pools* const made_at_start = current_pools();

void end_workers() {
  ending_thread = std::this_thread::get_id();
  ending = true;
  Patience patience;
  bool ended = let_launched_end(patience);
  for (Pool& pool : *current_pools()) ended &= pool.stop(patience);
  if (!ended) tell_of_end_without_devices();
}

}  // namespace

NoForkNow::NoForkNow() {
  while (true) {
    launching.fetch_add(1);
    if (forking == 0 && !must_stop()) break;
    launching.fetch_sub(1);
    const Blocking blocking;  // the fork may wait for a task that needs the front end's lock
    stay_stopped();
    while (forking != 0) std::this_thread::yield();
  }
  prepare_workers();
}

NoForkNow::~NoForkNow() { launching.fetch_sub(1); }

void tell_of_end_without_devices() {
  static std::atomic<bool> told{false};
  if (!told.exchange(true)) tell_of_hanging_devices("the process ends without waiting any longer");
}

void set_end_of_process(std::chrono::milliseconds limit) { end_of_process = limit; }

void prepare_workers() {
  static std::atomic<bool> arranged{false};
  if (arranged.load(std::memory_order_relaxed) || arranged.exchange(true)) return;
  at_process_end(EndStage::workers, end_workers);
}

void submit(Workers pool, std::function<void()> task) noexcept {
  try {
    (*current_pools())[static_cast<std::size_t>(pool)].submit(task);
  } catch (...) {  // no thread, or no memory to queue it
    task();
  }
}

}  // namespace lento

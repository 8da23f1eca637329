#include "executor/workers.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace lento {

namespace {

/// Two independent steps overlap even on one core; more workers than a few only wait for memory.
unsigned worker_count() { return std::clamp(std::thread::hardware_concurrency(), 2U, 4U); }

class Workers {
 public:
  void submit(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;  // the process is ending: nobody waits for this any more
      tasks_.push_back(std::move(task));
      if (idle_ == 0 && threads_.size() < worker_count()) threads_.emplace_back([this] { work(); });
    }
    wake_.notify_one();
  }

  /// Ends the threads; what they are running is finished, what is queued is dropped.
  void stop() {
    std::vector<std::thread> threads;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      threads.swap(threads_);
    }
    wake_.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  /// Before fork: nothing is queued or running, so the child misses nothing.
  void pause() {
    std::unique_lock lock(mutex_);
    drained_.wait(lock, [this] { return tasks_.empty() && busy_ == 0; });
    lock.release();
  }
  void resume() { mutex_.unlock(); }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      --idle_;
      if (stopping_) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      ++busy_;
      lock.unlock();
      task();
      lock.lock();
      --busy_;
      if (tasks_.empty() && busy_ == 0) drained_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;     // a task arrived, or stopping
  std::condition_variable drained_;  // nothing queued and nothing running
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  unsigned idle_ = 0;
  unsigned busy_ = 0;
  bool stopping_ = false;
};

Workers*& current_workers() {
  static Workers* pool = [] {
    std::atexit([] { current_workers()->stop(); });
    // The child has none of the threads, and condition variables that they wait on: it starts with a pool of its own
    // and leaves the old one alone.
    pthread_atfork([] { current_workers()->pause(); }, [] { current_workers()->resume(); },
                   [] { current_workers() = new Workers; });
    return new Workers;  // never destroyed: late submissions must find it
  }();
  return pool;
}

}  // namespace

void submit(std::function<void()> task) { current_workers()->submit(std::move(task)); }

}  // namespace lento

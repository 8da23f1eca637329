// BiasedLock: a mutex that costs its owner thread two plain stores, and everybody else a system call.
// A tape is written by its own thread millions of times a second and touched by others almost never.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

namespace lento {

/// Orders this thread's earlier stores with every running thread's later loads (membarrier on Linux). False when the
/// system has none; then owners fence for themselves.
bool heavy_fence();
extern const bool kHasHeavyFence;

class BiasedLock {
 public:
  /// Taken by the owner. Not recursive.
  void lock_owner() {
    inside_.store(true, std::memory_order_relaxed);
    if (kHasHeavyFence) {
      // The visitor's heavy_fence() orders this store and the next load for us; the compiler must keep their order.
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    if (visitor_.load(std::memory_order_acquire)) [[unlikely]]
      lock_owner_slow();
  }
  void unlock_owner() { inside_.store(false, std::memory_order_release); }

  /// Taken by any other thread.
  void lock_visitor();
  void unlock_visitor();
  /// unlock_visitor() in the child of a fork: an owner that was on its way in at that moment does not exist there.
  void unlock_in_child() {
    inside_.store(false, std::memory_order_relaxed);
    unlock_visitor();
  }

 private:
  void lock_owner_slow();

  std::atomic<bool> inside_{false};   // the owner is in its critical section
  std::atomic<bool> visitor_{false};  // a visitor has or wants the lock
  std::mutex visitors_;               // one visitor at a time
};

}  // namespace lento

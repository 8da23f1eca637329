// Waiting that a front end may break off: Python answers Ctrl-C while a thread of it waits for Lento.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace lento {

/// Called while a thread waits; throwing ends the wait. One for the process, installed by a front end.
using InterruptCheck = void (*)();
void set_interrupt_check(InterruptCheck check);
/// Calls it, if there is one.
void check_interrupt();

/// Threads whose front end lets go of its lock while they block: those that it called for something that may wait, or
/// any that holds the lock.
enum class WhoMayBlock { asked, anybody };

/// Called before a thread blocks and after: a front end lets go of a lock of its own meanwhile. What `before` returns
/// is given to `after`; null means that nothing was done. No lock of Lento's is held. `may_block` is asked where
/// waiting could as well happen later: false while the thread keeps that lock. One set for the process.
struct BlockingHooks {
  void* (*before)(WhoMayBlock who) = nullptr;
  void (*after)(void* token) = nullptr;
  bool (*may_block)() = nullptr;
};
void set_blocking_hooks(const BlockingHooks& hooks);
/// True without a front end.
bool may_block();

/// The thread may block while this lives.
class Blocking {
 public:
  explicit Blocking(WhoMayBlock who = WhoMayBlock::asked);
  ~Blocking();
  Blocking(const Blocking&) = delete;
  Blocking& operator=(const Blocking&) = delete;

 private:
  void* token_ = nullptr;
};

inline constexpr auto kInterruptInterval = std::chrono::milliseconds(50);

/// Waits until done(), which is asked with the lock held. The check runs without it; when the check throws, the lock
/// stays free.
template <class Done>
void wait_interruptibly(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Done done) {
  while (!changed.wait_for(lock, kInterruptInterval, done)) {
    lock.unlock();
    check_interrupt();
    lock.lock();
  }
}

}  // namespace lento

#include "base/biased_lock.h"

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace lento {

namespace {

bool register_heavy_fence() {
#if defined(__linux__) && defined(SYS_membarrier)
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#else
  return false;
#endif
}

void relax(int& spins) {
  if (++spins < 64) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  } else {
    std::this_thread::yield();
  }
}

}  // namespace

const bool kHasHeavyFence = register_heavy_fence();

bool heavy_fence() {
#if defined(__linux__) && defined(SYS_membarrier)
  if (kHasHeavyFence) return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
#endif
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return false;
}

void BiasedLock::lock_owner_slow() {
  // Step back, let the visitor finish, try again.
  while (true) {
    inside_.store(false, std::memory_order_release);
    int spins = 0;
    while (visitor_.load(std::memory_order_acquire)) relax(spins);
    inside_.store(true, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!visitor_.load(std::memory_order_acquire)) return;
  }
}

void BiasedLock::lock_visitor() {
  visitors_.lock();
  visitor_.store(true, std::memory_order_seq_cst);
  heavy_fence();
  int spins = 0;
  while (inside_.load(std::memory_order_acquire)) relax(spins);
}

void BiasedLock::unlock_visitor() {
  visitor_.store(false, std::memory_order_release);
  visitors_.unlock();
}

}  // namespace lento

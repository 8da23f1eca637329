#include "backends/cpu/threads.h"

#include "backends/cpu/processors.h"
#include "base/fail.h"
#include "base/fork.h"
#include "base/source.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace lento::cpu {

namespace {

using Word = std::atomic<std::uint32_t>;

/// How often a thread looks before it sleeps: some 20 µs, which is longer than the time between two kernels of a step
/// and short beside what sleeping and waking costs everybody.
constexpr int kSpins = 1000;
/// A thread takes this part of its share of what is left, so that chunks are long as long as there is much to do, and
/// short at the end, where threads that started late or were interrupted must not be waited for.
constexpr std::int64_t kPartOfShare = 2;
/// The shortest chunks are this part of a thread's share of all.
constexpr std::int64_t kSmallestPart = 16;

/// How many sleepers a thread wakes: waking costs microseconds each, so those who wake wake the others.
constexpr int kWakes = 2;

constinit thread_local bool inside = false;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

/// Sleeps while the word has this value; may wake for no reason.
void sleep_while(Word& word, std::uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void wake(Word& word, int count) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

struct Job {
  const FunctionRef<void(std::int64_t, std::int64_t)>* body = nullptr;
  std::int64_t count = 0;
  std::int64_t chunk = 0;             // the shortest; others are multiples of it
  std::uint32_t helpers = 0;          // as many may come in
  std::atomic<std::int64_t> next{0};  // where the next chunk begins
  std::atomic<bool> failed{false};
  std::exception_ptr failure;  // of whoever set `failed`
};

void stop_team_at_exit();

class Team {
 public:
  /// False when the team is busy: then nothing was done.
  bool run(std::int64_t count, std::int64_t chunk, int threads,
           const FunctionRef<void(std::int64_t, std::int64_t)>& body) {
    if (stopping_.load(std::memory_order_relaxed) || busy_.exchange(true, std::memory_order_acquire)) return false;
    start_helpers(threads - 1);
    job_.body = &body;
    job_.count = count;
    job_.chunk = chunk;
    job_.helpers = static_cast<std::uint32_t>(threads - 1);
    job_.next.store(0, std::memory_order_relaxed);
    job_.failed.store(false, std::memory_order_relaxed);
    state_.fetch_or(kOpen, std::memory_order_release);
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    // A helper announces itself and then looks at the epoch once more: one of us sees the other.
    if (sleepers_.load(std::memory_order_seq_cst) != 0) wake(epoch_, std::min(threads - 1, kWakes));
    work();
    state_.fetch_and(~kOpen, std::memory_order_relaxed);
    wait_for_helpers();
    const std::exception_ptr failure = std::exchange(job_.failure, nullptr);
    busy_.store(false, std::memory_order_release);
    if (failure) std::rethrow_exception(failure);
    return true;
  }

  /// Ends the helpers. Whoever comes later finds the team busy and works alone.
  void stop() {
    stopping_.store(true, std::memory_order_relaxed);  // first: else callers could keep it busy for ever
    while (busy_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    wake(epoch_, INT_MAX);
    for (std::thread& helper : helpers_) helper.join();
  }

 private:
  // Bits of state_; the rest counts the helpers that are at work.
  static constexpr std::uint32_t kOpen = 1U << 31;     // helpers may come in
  static constexpr std::uint32_t kAwaited = 1U << 30;  // the caller sleeps until the count is 0
  static constexpr std::uint32_t kCount = kAwaited - 1;

  void start_helpers(int wanted) {
    if (static_cast<int>(helpers_.size()) >= wanted) return;
    stop_team_at_exit();
    // Signals are for the threads of the program.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool more = true;
    while (more && static_cast<int>(helpers_.size()) < wanted) {
      try {
        helpers_.emplace_back([this] { help(); });
      } catch (const std::exception&) {
        more = false;  // no threads or no memory: those there are will do
      }
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  std::int64_t end_of_chunk(std::int64_t begin) const {
    const std::int64_t left = (job_.count - begin) / job_.chunk;
    const std::int64_t wanted = left / ((static_cast<std::int64_t>(job_.helpers) + 1) * kPartOfShare);
    return std::min(begin + std::max<std::int64_t>(wanted, 1) * job_.chunk, job_.count);
  }

  /// Does chunks until there are none.
  void work() noexcept {
    inside = true;
    try {
      std::int64_t begin = job_.next.load(std::memory_order_relaxed);
      while (begin < job_.count) {
        const std::int64_t end = end_of_chunk(begin);
        if (!job_.next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) continue;
        (*job_.body)(begin, end);
        begin = job_.next.load(std::memory_order_relaxed);
      }
    } catch (...) {
      if (!job_.failed.exchange(true, std::memory_order_relaxed)) job_.failure = std::current_exception();
      job_.next.store(job_.count, std::memory_order_relaxed);
    }
    inside = false;
  }

  void help() {
    std::uint32_t seen = 0;
    while (true) {
      seen = next_epoch(seen);
      if (stopping_.load(std::memory_order_relaxed)) return;
      const std::uint32_t entered = state_.fetch_add(1, std::memory_order_acquire);
      if ((entered & kOpen) != 0 && (entered & kCount) < job_.helpers) {
        const bool more_wanted = (entered & kCount) + 1 < job_.helpers;
        if (more_wanted && sleepers_.load(std::memory_order_relaxed) != 0) wake(epoch_, kWakes);
        work();
      }
      const std::uint32_t left = state_.fetch_sub(1, std::memory_order_release);
      if ((left & kAwaited) != 0 && (left & kCount) == 1) wake(state_, 1);
    }
  }

  std::uint32_t next_epoch(std::uint32_t seen) {
    for (int spin = 0; spin < kSpins; ++spin) {
      if (const std::uint32_t now = epoch_.load(std::memory_order_acquire); now != seen) return now;
      pause_briefly();
    }
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    std::uint32_t now;
    while ((now = epoch_.load(std::memory_order_seq_cst)) == seen) sleep_while(epoch_, seen);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return now;
  }

  void wait_for_helpers() {
    for (int spin = 0; spin < kSpins; ++spin) {
      if ((state_.load(std::memory_order_acquire) & kCount) == 0) return;
      pause_briefly();
    }
    std::uint32_t now = state_.fetch_or(kAwaited, std::memory_order_acquire) | kAwaited;
    while ((now & kCount) != 0) {
      sleep_while(state_, now);
      now = state_.load(std::memory_order_acquire);
    }
    state_.fetch_and(~kAwaited, std::memory_order_relaxed);
  }

  // What helpers poll, what callers exchange and what everybody adds to are on lines of their own.
  alignas(64) Word epoch_{0};  // grows with every job
  std::atomic<bool> stopping_{false};
  alignas(64) Word state_{0};
  alignas(64) Word sleepers_{0};
  alignas(64) std::atomic<bool> busy_{false};  // who sets it owns what follows
  std::vector<std::thread> helpers_;
  Job job_;  // read by helpers that are counted in state_
};

/// The child of a fork has none of the helpers, and maybe a job that no thread is at: it starts with a new team.
Team& current_team() { return PerProcess<Team>::get(); }

void stop_team_at_exit() {
  static std::atomic<bool> arranged{false};
  if (!arranged.exchange(true)) std::atexit([] { current_team().stop(); });
}

std::atomic<int>& thread_count() {
  static std::atomic<int> count{usable_processors()};
  return count;
}

}  // namespace

bool inside_parallel_for() { return inside; }

void parallel_for(std::int64_t count, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  if (count > grain && !inside) {
    const std::int64_t grains = (count - 1) / grain + 1;
    const auto threads = static_cast<int>(std::min<std::int64_t>(get_num_threads(), grains));
    const std::int64_t chunk = std::max<std::int64_t>(grains / (threads * kSmallestPart), 1) * grain;
    if (threads > 1 && current_team().run(count, chunk, threads, body)) return;
  }
  body(0, count);
}

}  // namespace lento::cpu

namespace lento {

int get_num_threads() { return cpu::thread_count().load(std::memory_order_relaxed); }

void set_num_threads(int count, std::source_location site) {
  const CallScope scope("set_num_threads", site);
  if (count < 1) fail<ValueError>("the number of threads must be at least 1, got {}", count);
  cpu::thread_count().store(count, std::memory_order_relaxed);
}

}  // namespace lento

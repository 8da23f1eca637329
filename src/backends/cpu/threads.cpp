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
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace lento::cpu {

namespace {

using Word = std::atomic<std::uint32_t>;

/// How often a thread looks before it sleeps: some 20 µs, which is longer than the time between two kernels of a step
/// and short beside what sleeping and waking costs everybody.
constexpr int kSpins = 1000;
/// Each time a thread takes this part of what is left of its share, so that ranges are long as long as there is much to
/// do, and others find something to take over from threads that started late or were interrupted.
constexpr std::uint32_t kPartOfShare = 2;
/// The shortest ranges are this part of a thread's share.
constexpr std::int64_t kSmallestPart = 16;
/// How many sleepers a thread wakes: waking costs a microsecond each, so those who wake wake the others.
constexpr std::uint32_t kWakes = 3;

constinit thread_local bool inside = false;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  // `yield` does nothing where a core is one thread; this empties the pipeline, which takes some ten cycles.
  __asm__ volatile("isb" ::: "memory");
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

/// Sleeps while the word has this value; may wake for no reason.
void sleep_while(Word& word, std::uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
/// Wakes the one thread that sleeps there.
void wake_sleeper(Word& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

/// What is left of a thread's share: chunks first … end - 1. Its thread takes from the front, others from the back.
struct Share {
  std::uint32_t first;
  std::uint32_t end;

  static Share of(std::uint64_t bits) {
    return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32U)};
  }
  std::uint64_t bits() const { return std::uint64_t{end} << 32U | first; }
  std::uint32_t count() const { return end - first; }
};

/// What belongs to one thread of the team. A processor may fetch lines in pairs.
struct alignas(128) Seat {
  std::atomic<std::uint64_t> share{0};  // empty between jobs
  Word claim{0};                        // the last job for which its share was taken: see Team::claim
  Word done{0};                         // the last job that its thread left, which only it writes
  Word asleep{0};                       // 1 while its thread sleeps, which others end
};

/// A job as helpers see it: which one it is, and how many threads it is for.
struct Call {
  std::uint32_t job;
  std::uint32_t threads;

  static Call of(std::uint64_t bits) {
    return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32U)};
  }
  std::uint64_t bits() const { return std::uint64_t{threads} << 32U | job; }
};

void stop_team_at_exit();

/// A job goes round like this: the caller writes it down and calls; each helper that it is for claims its own share,
/// does it, and says that it is done. The caller, when it has nothing to do any more, claims the shares that nobody has
/// claimed, and waits for those helpers that claimed theirs. So each helper meets the caller on two lines of memory
/// only.
class Team {
 public:
  /// False when the team is busy, or has no memory for a single seat: then nothing was done.
  bool run(std::int64_t count, std::int64_t chunk, int threads,
           const FunctionRef<void(std::int64_t, std::int64_t)>& body) {
    if (stopping_.load(std::memory_order_relaxed) || busy_.exchange(true, std::memory_order_acquire)) return false;
    start_helpers(static_cast<std::uint32_t>(threads));
    if (seats_.empty()) {
      busy_.store(false, std::memory_order_release);
      return false;
    }
    body_ = &body;
    count_ = count;
    chunk_ = chunk;
    threads_ = std::min(static_cast<std::uint32_t>(threads), static_cast<std::uint32_t>(seats_.size()));
    job_ = (job_ + 1) & kJobs;
    // Before anybody is called: a helper that is done early finds what there is to take over.
    claim(0, kByOwner);
    seats_[0]->share.store(first_share(0).bits(), std::memory_order_relaxed);
    call_.store(Call{job_, threads_}.bits(), std::memory_order_release);
    // A helper announces that it sleeps and then looks once more whether it is called: one of us sees the other.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_relaxed) != 0) wake_some(0);
    work(0, true);
    for (std::uint32_t seat = 1; seat < threads_; ++seat) {
      if (!claim(seat, 0)) wait_for(*seats_[seat]);
    }
    const std::exception_ptr failure = std::exchange(failure_, nullptr);
    failed_.store(false, std::memory_order_relaxed);
    busy_.store(false, std::memory_order_release);
    if (failure) std::rethrow_exception(failure);
    return true;
  }

  /// Ends the helpers. Whoever comes later finds the team busy and works alone.
  void stop() {
    stopping_.store(true, std::memory_order_relaxed);  // first: else callers could keep it busy for ever
    while (busy_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
    call_.store(Call{(job_ + 1) & kJobs, 0}.bits(), std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (const std::unique_ptr<Seat>& seat : seats_) wake(*seat);
    for (std::thread& helper : helpers_) helper.join();
  }

 private:
  // A claim is the job's number, and whether the seat's own thread made it.
  static constexpr std::uint32_t kByOwner = 1U << 31;
  static constexpr std::uint32_t kJobs = kByOwner - 1;

  /// As many seats as threads are wanted. The first one is the caller's.
  void start_helpers(std::uint32_t wanted) {
    if (seats_.size() >= wanted) return;
    stop_team_at_exit();
    // Signals are for the threads of the program.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool more = true;
    while (more && seats_.size() < wanted) {
      try {
        helpers_.reserve(wanted);
        seats_.reserve(wanted);
        auto seat = std::make_unique<Seat>();
        // Not 0, which is the number of a job once they begin again.
        seat->claim.store(job_, std::memory_order_relaxed);
        seat->done.store(job_, std::memory_order_relaxed);
        const auto at = static_cast<std::uint32_t>(seats_.size());
        if (at != 0) helpers_.emplace_back([this, at, own = seat.get(), seen = job_] { help(at, *own, seen); });
        seats_.push_back(std::move(seat));
      } catch (const std::exception&) {
        more = false;  // no threads or no memory: those there are will do
      }
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  static void wake(Seat& seat) {
    if (seat.asleep.exchange(0, std::memory_order_relaxed) == 1) wake_sleeper(seat.asleep);
  }

  /// Each thread wakes kWakes others, which are a tree with the caller at its root.
  void wake_some(std::uint32_t seat) {
    const std::uint32_t first = seat * kWakes + 1;
    for (std::uint32_t other = first; other < std::min(first + kWakes, threads_); ++other) {
      if (seats_[other]->asleep.load(std::memory_order_relaxed) == 1) wake(*seats_[other]);
    }
  }

  /// Whether the share of a seat is now the calling thread's, and nobody else's.
  bool claim(std::uint32_t seat, std::uint32_t by_owner) {
    Word& word = seats_[seat]->claim;
    std::uint32_t last = word.load(std::memory_order_relaxed);
    return (last & kJobs) != job_ &&
           word.compare_exchange_strong(last, job_ | by_owner, std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  Share first_share(std::uint32_t seat) const {
    const auto chunks = static_cast<std::uint64_t>((count_ - 1) / chunk_ + 1);
    return {static_cast<std::uint32_t>(chunks * seat / threads_),
            static_cast<std::uint32_t>(chunks * (seat + 1) / threads_)};
  }

  /// Does the share of this seat and then what it can take from others.
  void work(std::uint32_t seat, bool is_caller) noexcept {
    inside = true;
    Seat& own = *seats_[seat];
    // Looking at each other's shares costs more than there is to be had of a few chunks. The caller looks after those
    // whose threads do not come.
    const bool takes = is_caller || (count_ - 1) / chunk_ + 1 >= 2 * std::int64_t{threads_};
    try {
      do {
        do_share(own);
      } while (takes && take_from_others(seat));
    } catch (...) {
      if (!failed_.exchange(true, std::memory_order_relaxed)) failure_ = std::current_exception();
    }
    own.share.store(0, std::memory_order_relaxed);  // after a failure something may be left
    inside = false;
  }

  void do_share(Seat& seat) {
    std::uint64_t bits = seat.share.load(std::memory_order_relaxed);
    for (Share share = Share::of(bits); share.count() != 0 && !failed_.load(std::memory_order_relaxed);
         share = Share::of(bits)) {
      const std::uint32_t end = share.first + std::max(share.count() / kPartOfShare, 1U);
      if (!seat.share.compare_exchange_weak(bits, Share{end, share.end}.bits(), std::memory_order_relaxed)) continue;
      (*body_)(share.first* chunk_, std::min(end * chunk_, count_));
      bits = seat.share.load(std::memory_order_relaxed);
    }
  }

  /// Makes what nobody has claimed, or half of what another thread has left, the share of this seat. False when there
  /// is nothing, or all shall end.
  bool take_from_others(std::uint32_t seat) {
    if (failed_.load(std::memory_order_relaxed)) return false;
    for (std::uint32_t step = 1; step < threads_; ++step) {
      const std::uint32_t at = seat + step < threads_ ? seat + step : seat + step - threads_;
      if (claim(at, 0)) {
        seats_[seat]->share.store(first_share(at).bits(), std::memory_order_relaxed);
        return true;
      }
      std::atomic<std::uint64_t>& other = seats_[at]->share;
      std::uint64_t bits = other.load(std::memory_order_relaxed);
      for (Share share = Share::of(bits); share.count() != 0; share = Share::of(bits)) {
        const std::uint32_t end = share.end - (share.count() + 1) / 2;
        if (!other.compare_exchange_weak(bits, Share{share.first, end}.bits(), std::memory_order_relaxed)) continue;
        seats_[seat]->share.store(Share{end, share.end}.bits(), std::memory_order_relaxed);
        return true;
      }
    }
    return false;
  }

  void help(std::uint32_t at, Seat& seat, std::uint32_t seen) {
    int spins = 0;
    while (true) {
      wait_for_call(seat, seen, spins);
      if (stopping_.load(std::memory_order_relaxed)) return;
      // The last claim first: when the job that is read then is over by the time it is claimed, its claim has changed.
      std::uint32_t last = seat.claim.load(std::memory_order_acquire);
      const Call call = Call::of(call_.load(std::memory_order_acquire));
      seen = call.job;
      // Without a claim the job may be over, and nothing of it may be looked at.
      if (at >= call.threads || (last & kJobs) == call.job ||
          !seat.claim.compare_exchange_strong(last, call.job | kByOwner, std::memory_order_acq_rel,
                                              std::memory_order_relaxed)) {
        continue;
      }
      // Before others are woken, who may run here at once: then they can take it over.
      seat.share.store(first_share(at).bits(), std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_seq_cst);  // as in run
      if (sleepers_.load(std::memory_order_relaxed) != 0) wake_some(at);
      work(at, false);
      if (seat.done.exchange(call.job, std::memory_order_release) == kAwaited) wake_sleeper(seat.done);
      spins = 0;
    }
  }

  /// Looks up to kSpins times since the thread had something to do, then sleeps.
  void wait_for_call(Seat& seat, std::uint32_t seen, int& spins) {
    const auto is_called = [&] { return Call::of(call_.load(std::memory_order_acquire)).job != seen; };
    for (; spins < kSpins; ++spins) {
      if (is_called()) return;
      pause_briefly();
    }
    sleepers_.fetch_add(1, std::memory_order_relaxed);
    while (true) {
      seat.asleep.store(1, std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      if (is_called()) break;
      sleep_while(seat.asleep, 1);
    }
    seat.asleep.store(0, std::memory_order_relaxed);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

  /// Until the thread of this seat has left the job, if it was this one that claimed its share.
  void wait_for(Seat& seat) {
    if (seat.claim.load(std::memory_order_relaxed) != (job_ | kByOwner)) return;
    std::uint32_t done = 0;
    for (int spin = 0; spin < kSpins; ++spin) {
      done = seat.done.load(std::memory_order_acquire);
      if (done == job_) return;
      pause_briefly();
    }
    if (!seat.done.compare_exchange_strong(done, kAwaited, std::memory_order_acquire)) return;
    while (seat.done.load(std::memory_order_acquire) == kAwaited) sleep_while(seat.done, kAwaited);
  }

  /// In Seat::done: the caller sleeps until there is a job's number again.
  static constexpr std::uint32_t kAwaited = 1U << 31;

  // What helpers poll, and what they read of a job then, is one line.
  alignas(128) std::atomic<std::uint64_t> call_{0};
  const FunctionRef<void(std::int64_t, std::int64_t)>* body_ = nullptr;
  std::int64_t count_ = 0;
  std::int64_t chunk_ = 0;
  std::uint32_t threads_ = 0;  // the caller and the helpers that are asked
  std::uint32_t job_ = 0;
  std::vector<std::unique_ptr<Seat>> seats_;
  alignas(128) std::atomic<bool> busy_{false};  // who sets it owns the line above and what follows
  std::exception_ptr failure_;                  // of whoever set `failed_`
  std::vector<std::thread> helpers_;
  alignas(128) std::atomic<bool> failed_{false};
  std::atomic<bool> stopping_{false};
  Word sleepers_{0};
};

/// The child of a fork has none of the helpers, and maybe a job that no thread is at: it starts with a new team.
Team& current_team() { return PerProcess<Team>::get(); }

void stop_team_at_exit() {
  static std::atomic<bool> arranged{false};
  if (!arranged.exchange(true)) std::atexit([] { current_team().stop(); });
}

/// Files are read for it, which takes locks of the C library: a child that is forked just then would wait for them for
/// ever.
struct ThreadCount {
  std::atomic<int> threads{usable_processors()};
};

std::atomic<int>& thread_count() { return ProcessLifetime<ThreadCount>::get().threads; }

}  // namespace

bool inside_parallel_for() { return inside; }

void parallel_for(std::int64_t count, LoopCut cut, FunctionRef<void(std::int64_t, std::int64_t)> body) {
  if (count <= 0) return;
  const std::int64_t grain = std::max<std::int64_t>(cut.grain, 1);
  const std::int64_t step = std::clamp<std::int64_t>(cut.step, 1, grain);
  if (count > grain && !inside) {
    const std::int64_t grains = (count - 1) / grain + 1;
    const auto threads = static_cast<int>(std::min<std::int64_t>(get_num_threads(), grains));
    const std::int64_t steps = (count - 1) / step + 1;
    // Chunks are counted in 32 bits.
    const std::int64_t parts = std::min<std::int64_t>(threads * kSmallestPart, std::int64_t{1} << 31);
    const std::int64_t chunk = std::max<std::int64_t>(steps / parts, 1) * step;
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

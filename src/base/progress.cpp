#include "base/progress.h"

#include "base/fork.h"

#include <atomic>
#include <thread>

namespace lento {

namespace {

constinit std::atomic<std::uint64_t> ended{1};                   // how many things
constinit std::atomic<std::uint64_t> given_up_at{0};             // what `ended` was when somebody gave up
constinit std::atomic<int> computing{0};                         // threads
constinit std::atomic<std::int64_t> limit_milliseconds{60'000};  // longer than any step that is worth waiting for
constinit thread_local bool computes = false;

/// The child of a fork has one thread.
[[maybe_unused]] const bool child_counts_anew = (call_in_child([] { computing = computes ? 1 : 0; }), true);

}  // namespace

void note_progress() { ended.fetch_add(1, std::memory_order_relaxed); }

HostComputes::HostComputes() : outer_(computes) {
  computes = true;
  if (!outer_) computing.fetch_add(1);
}

HostComputes::~HostComputes() {
  computes = outer_;
  if (outer_) return;
  note_progress();
  computing.fetch_sub(1);
}

HostWaits::HostWaits() : computes_(computes) {
  computes = false;
  if (computes_) computing.fetch_sub(1);
}

HostWaits::~HostWaits() {
  computes = computes_;
  if (computes_) computing.fetch_add(1);
}

bool Patience::wait() {
  const Clock::time_point now = Clock::now();
  const bool somebody_computes = computing.load() != 0;
  const std::uint64_t seen = ended.load();
  if (!somebody_computes && seen == given_up_at.load()) return false;
  if (somebody_computes || seen != seen_) {
    since_ = now;
    seen_ = seen;
  } else if (now - since_ >= patience()) {
    given_up_at = seen;
    return false;
  }
  // What is short ends meanwhile.
  if (now - begin_ < std::chrono::milliseconds(1)) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void set_patience(std::chrono::milliseconds limit) { limit_milliseconds = limit.count(); }
std::chrono::milliseconds patience() { return std::chrono::milliseconds(limit_milliseconds.load()); }

}  // namespace lento

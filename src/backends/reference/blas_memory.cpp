#include "backends/reference/blas_memory.h"

#include "base/address_space.h"
#include "base/fork.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <new>
#include <vector>

extern "C" {
// What OpenBLAS's own functions use to get and give back a buffer; no header of its declares them.
void* blas_memory_alloc(int where);
void blas_memory_free(void* buffer);
void openblas_set_num_threads(int count);
}

namespace lento::reference {

namespace {

[[maybe_unused]] const bool openblas_is_serial = (openblas_set_num_threads(1), true);

// Its BUFFER_SIZE on x86-64 and arm64, and room for what other threads map in the meantime.
constexpr std::size_t kBufferBytes = (std::size_t{128} << 20) + (std::size_t{8} << 20);

bool has_room() {
  try {
    require_address_space(kBufferBytes);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

/// The buffers that OpenBLAS has mapped, as far as they were seen here. It gives a call the first buffer that is not in
/// use and maps one only when all are, so that as many calls as there are buffers never make it map another.
class Buffers {
 public:
  Buffers() {
    // A child has none of the threads whose calls were under way, but OpenBLAS thinks their buffers in use.
    lock_while_forking([this] { mutex_.lock(); }, [this] { mutex_.unlock(); },
                       [this] {
                         seen_.clear();
                         count_ = 0;
                         in_use_ = 0;
                         waiting_ = 0;
                         new (&left_) std::condition_variable;  // threads of the parent wait on the other
                         mutex_.unlock();
                       },
                       ForkOrder::memory);
  }

  void enter() {
    if (try_enter()) [[likely]]
      return;
    std::unique_lock lock(mutex_);
    while (!try_enter()) {
      if (map_one()) continue;
      if (count_ == 0) throw std::bad_alloc();
      waiting_.fetch_add(1);
      if (in_use_ >= count_) left_.wait(lock);
      waiting_.fetch_sub(1);
    }
  }

  void leave() {
    in_use_.fetch_sub(1);
    if (waiting_ == 0) [[likely]]
      return;
    const std::lock_guard lock(mutex_);
    left_.notify_one();
  }

 private:
  bool try_enter() {
    int now = in_use_;
    while (now < count_) {
      if (in_use_.compare_exchange_weak(now, now + 1)) return true;
    }
    return false;
  }

  /// Makes OpenBLAS map one buffer more; false when there is no room. Needs the lock.
  bool map_one() {
    std::vector<void*> held;
    bool room = true;
    // Nothing is allocated while buffers are held: memory may be short just now.
    held.reserve(seen_.size() + 1);
    seen_.reserve(seen_.size() + 1);
    for (const std::size_t wanted = seen_.size() + 1; room && seen_.size() < wanted;) {
      // OpenBLAS would not come back: its size is tried first.
      room = has_room();
      if (!room) break;
      held.push_back(blas_memory_alloc(0));
      if (std::ranges::find(seen_, held.back()) == seen_.end()) seen_.push_back(held.back());
    }
    for (void* buffer : held) blas_memory_free(buffer);
    count_ = static_cast<int>(seen_.size());
    return room;
  }

  std::mutex mutex_;
  std::condition_variable left_;
  std::vector<void*> seen_;
  std::atomic<int> count_{0};   // of seen_
  std::atomic<int> in_use_{0};  // at most count_
  std::atomic<int> waiting_{0};
};

Buffers& buffers() { return ProcessLifetime<Buffers>::get(); }

[[gnu::tls_model("initial-exec")]] constinit thread_local int depth = 0;

}  // namespace

BlasCall::BlasCall() {
  if (depth == 0) buffers().enter();
  ++depth;
}

BlasCall::~BlasCall() {
  if (--depth == 0) buffers().leave();
}

}  // namespace lento::reference

#include "backends/cpu/libraries/prepared_weights.h"

#include "backends/cpu/arena.h"
#include "base/counters.h"
#include "base/fork.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <list>
#include <mutex>
#include <new>
#include <unordered_map>

namespace lento::cpu {

namespace {

const CounterId kReused = counter_id("weight.reused");

/// Notes that are kept at most, with a weight or without.
constexpr std::size_t kMostNotes = 4096;
/// Bytes that are kept at most: the weights of a large network of convolutions, and little of a machine's memory.
constexpr std::size_t kMostBytes = std::size_t{512} << 20;

/// How often a convolution has read a weight, and what was kept of it.
struct Note {
  const void* weight;
  std::uint64_t user;
  std::shared_ptr<PreparedWeight> prepared;
};

struct Notes {
  using Order = std::list<Note>;

  ForkMutex mutex{ForkOrder::memory};
  std::atomic<std::size_t> count{0};  // of notes, to be read without the lock
  std::size_t bytes = 0;
  Order order;  // the most recently used first
  std::unordered_multimap<const void*, Order::iterator> by_weight;

  Order::iterator find(const void* weight, std::uint64_t user) {
    const auto [first, last] = by_weight.equal_range(weight);
    const auto it = std::find_if(first, last, [&](const auto& entry) { return entry.second->user == user; });
    return it == last ? order.end() : it->second;
  }

  /// Moves a note to `gone`, whose memory is freed without the lock.
  void remove(Order::iterator note, Order& gone) {
    const auto [first, last] = by_weight.equal_range(note->weight);
    by_weight.erase(std::find_if(first, last, [&](const auto& entry) { return entry.second == note; }));
    if (note->prepared) bytes -= note->prepared->bytes();
    gone.splice(gone.end(), order, note);
    count.store(order.size(), std::memory_order_relaxed);
  }

  void add(const void* weight, std::uint64_t user, Order& gone) {
    order.push_front({weight, user, nullptr});
    try {
      by_weight.emplace(weight, order.begin());
    } catch (...) {
      order.pop_front();
      throw;
    }
    count.store(order.size(), std::memory_order_relaxed);
    if (order.size() > kMostNotes) remove(std::prev(order.end()), gone);
  }
};

Notes& notes() { return ProcessLifetime<Notes>::get(); }

}  // namespace

PreparedWeight::PreparedWeight(Arena& arena, std::size_t bytes)
    : arena_(&arena), bytes_(bytes), data_(arena.allocate_kept(bytes)) {}
PreparedWeight::~PreparedWeight() { arena_->free_kept(data_, bytes_); }

std::uint64_t new_weight_user() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::shared_ptr<PreparedWeight> find_prepared_weight(const void* weight, std::uint64_t user, std::size_t bytes) {
  Arena& arena = scratch_arena();
  if (bytes > kMostBytes || arena.is_limited()) return nullptr;
  Notes::Order gone;
  {
    const std::lock_guard lock(notes().mutex);
    const auto note = notes().find(weight, user);
    if (note == notes().order.end()) {
      notes().add(weight, user, gone);
      return nullptr;
    }
    notes().order.splice(notes().order.begin(), notes().order, note);
    if (note->prepared) {
      lento::count(kReused);
      return note->prepared;
    }
  }
  return std::make_shared<PreparedWeight>(arena, bytes);
}

void keep_prepared_weight(const void* weight, std::uint64_t user, const std::shared_ptr<PreparedWeight>& prepared) {
  prepared->set_ready();
  Notes::Order gone;
  const std::lock_guard lock(notes().mutex);
  const auto note = notes().find(weight, user);
  if (note == notes().order.end() || note->prepared) return;
  note->prepared = prepared;
  notes().bytes += prepared->bytes();
  while (notes().bytes > kMostBytes) notes().remove(std::prev(notes().order.end()), gone);
}

void forget_prepared_weights(const void* weight) noexcept {
  if (notes().count.load(std::memory_order_relaxed) == 0) return;
  Notes::Order gone;
  const std::lock_guard lock(notes().mutex);
  for (auto it = notes().by_weight.find(weight); it != notes().by_weight.end(); it = notes().by_weight.find(weight)) {
    notes().remove(it->second, gone);
  }
}

void forget_weight_user(std::uint64_t user) noexcept {
  if (notes().count.load(std::memory_order_relaxed) == 0) return;
  Notes::Order gone;
  const std::lock_guard lock(notes().mutex);
  for (auto it = notes().order.begin(); it != notes().order.end();) {
    const auto note = it++;
    if (note->user == user) notes().remove(note, gone);
  }
}

void drop_prepared_weights() noexcept {
  if (notes().count.load(std::memory_order_relaxed) == 0) return;
  Notes::Order gone;
  const std::lock_guard lock(notes().mutex);
  while (!notes().order.empty()) notes().remove(notes().order.begin(), gone);
}

}  // namespace lento::cpu

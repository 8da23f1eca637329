// IntListTable: lists of integers to dense ids and back. Equal lists share one id; ids stay valid for the process.
// Reading an id takes no lock; interning a list that this thread interned lately takes none either.
#pragma once

#include <lento/ints.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>

namespace lento {

class IntListTable {
 public:
  /// Throws when a list does not belong into a table.
  using Check = void (*)(std::span<const std::int64_t> values);

  /// Id 0 is the empty list. `check`, if any, is called once per list, before it gets an id.
  explicit IntListTable(Check check = nullptr);

  std::uint32_t intern(std::span<const std::int64_t> values);
  const Ints& get(std::uint32_t id) const {
    const Place place = place_of(id);
    return segments_[place.segment].load(std::memory_order_acquire)[place.offset];
  }
  /// For tables that live as long as the process.
  void keep_free_in_forked_children();
  std::uint32_t size() const { return size_.load(std::memory_order_acquire); }

 private:
  static constexpr std::uint32_t kFirstBits = 10;  // the first segment holds 1024 lists, each next one twice as many
  struct Place {
    std::uint32_t segment;
    std::uint32_t offset;
  };
  static Place place_of(std::uint32_t id) {
    const std::uint32_t shifted = id + (1U << kFirstBits);
    const std::uint32_t top = 31U - static_cast<std::uint32_t>(__builtin_clz(shifted));
    return {top - kFirstBits, shifted - (1U << top)};
  }
  std::uint32_t intern_slow(std::span<const std::int64_t> values, std::uint64_t hash);

  const Check check_;
  std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> ids_;  // by hash; candidates are compared
  std::atomic<Ints*> segments_[32 - kFirstBits] = {};          // never freed while the process lives
  std::atomic<std::uint32_t> size_{0};
};

/// A good 64-bit hash of a list of integers. Built with LENTO_CONSTANT_HASH it is the same for every list, to prove
/// that nothing trusts it.
std::uint64_t hash_ints(std::span<const std::int64_t> values);

}  // namespace lento

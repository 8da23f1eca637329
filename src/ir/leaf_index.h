// LeafIndex: which leaf of a tape a value is. A small hash table whose entries die when the tape's serial changes, so
// that forgetting all leaves costs nothing.
#pragma once

#include "base/value.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lento {

class LeafIndex {
 public:
  static constexpr std::uint32_t kNone = ~0U;

  /// The value's leaf under this serial, or kNone.
  std::uint32_t find(const Value* value, std::uint64_t serial) const {
    if (entries_.empty()) return kNone;
    for (std::size_t at = home(value);; at = (at + 1) & (entries_.size() - 1)) {
      const Entry& entry = entries_[at];
      if (entry.serial != serial) return kNone;
      if (entry.value == value) return entry.leaf;
    }
  }

  /// Adds the value, which is not there, as the `leaf`-th one. Leaves must be added in order from 0 for each serial.
  void add(const Value* value, std::uint64_t serial, std::uint32_t leaf) {
    reserve(std::size_t{leaf} + 1, serial);
    place({value, serial, leaf});
  }

  /// Adding this many leaves will not allocate.
  void reserve(std::size_t leaves, std::uint64_t serial) {
    while (2 * leaves > entries_.size()) grow(serial);
  }

 private:
  struct Entry {
    const Value* value = nullptr;
    std::uint64_t serial = 0;  // of the tape when it was added; others are free places
    std::uint32_t leaf = 0;
  };

  std::size_t home(const Value* value) const {
    // Values lie in slabs; the low bits of an address tell little, the product spreads the others upwards.
    const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(value) * 0x9E3779B97F4A7C15ULL;
    return static_cast<std::size_t>(mixed >> 32) & (entries_.size() - 1);
  }
  void place(const Entry& added) {
    std::size_t at = home(added.value);
    while (entries_[at].serial == added.serial) at = (at + 1) & (entries_.size() - 1);
    entries_[at] = added;
  }
  void grow(std::uint64_t serial) {
    std::vector<Entry> old(entries_.empty() ? 64 : 2 * entries_.size());
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.serial == serial) place(entry);
    }
  }

  std::vector<Entry> entries_;  // a power of two, at most half of them with the current serial
};

}  // namespace lento

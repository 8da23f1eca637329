// One contiguous line sorted: its values, or the positions that sort it.
#pragma once

#include "backends/cpu/native/radix.h"
#include "backends/cpu/native/sort_key.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace lento::cpu {

/// Lines from this length on are worth several threads and writing past the caches.
inline constexpr std::int64_t kLongLine = std::int64_t{1} << 16;
/// Lines up to this length are compared: counting 256 values a byte would take longer.
inline constexpr std::int64_t kShortLine = 160;

/// A key and the position of its element, where they do not fit 64 bits.
struct WideEntry {
  std::uint64_t key = 0;
  std::uint64_t index = 0;

  friend bool operator<(const WideEntry& a, const WideEntry& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};

/// Bytes of memory that sorting a line takes.
template <class T>
constexpr std::int64_t value_scratch_bytes(std::int64_t count) {
  return count * (count <= kShortLine ? 16 : static_cast<std::int64_t>(sizeof(T)));
}
template <class T>
constexpr std::int64_t index_scratch_bytes(std::int64_t count) {
  if (sizeof(T) > 4 || count >> 32 != 0) return 32 * count;
  return count * (count < kLongLine ? 16 : 8);
}

/// Sorts a line of middling length by bytes `first` … `last` - 1 of `key(element)`, back and forth between two buffers.
/// Returns where the result is.
template <class E, class Key>
E* radix_sort(E* elements, E* other, std::int64_t count, int first, int last, Key key) {
  std::uint32_t counts[8][kRadix] = {};
  for (std::int64_t i = 0; i < count; ++i) {
    const auto k = key(elements[i]);
    for (int byte = first; byte < last; ++byte) ++counts[byte][static_cast<std::uint8_t>(k >> (8 * byte))];
  }
  for (int byte = first; byte < last; ++byte) {
    std::uint32_t* next = counts[byte];
    const auto digit = [&](const E& element) { return static_cast<std::uint8_t>(key(element) >> (8 * byte)); };
    if (next[digit(elements[0])] == static_cast<std::uint32_t>(count)) continue;  // all the same
    std::uint32_t total = 0;
    for (int d = 0; d < kRadix; ++d) total += std::exchange(next[d], total);
    for (std::int64_t i = 0; i < count; ++i) other[next[digit(elements[i])]++] = elements[i];
    std::swap(elements, other);
  }
  return elements;
}

/// Sorts a long line of elements. `load(i)` gives the elements at first; buffers are used in turn so that the last pass
/// writes to `out`, converted by `finish`.
template <class E, class R, class K, class Load, class Key, class Finish>
void radix_sort_long(std::int64_t count, E* buffers[2], R* out, K differing, Load load, Key key, Finish finish) {
  int passes = 0;
  for (std::size_t byte = 0; byte < sizeof(K); ++byte) passes += (differing >> (8 * byte) & 0xff) != 0 ? 1 : 0;
  const std::int64_t parts = radix_parts(count);
  const E* from = nullptr;
  int done = 0;
  for (std::size_t byte = 0; byte < sizeof(K); ++byte) {
    if ((differing >> (8 * byte) & 0xff) == 0) continue;
    const auto digit = [&](const E& element) { return static_cast<std::uint8_t>(key(element) >> (8 * byte)); };
    const auto same = [](const E& element) { return element; };
    E* const to = buffers[(passes - 1 - done) % 2];
    const auto stored = [from](std::int64_t i) { return from[i]; };
    ++done;
    if (done == passes) {
      from == nullptr ? radix_pass(count, parts, out, load, digit, finish)
                      : radix_pass(count, parts, out, stored, digit, finish);
    } else {
      from == nullptr ? radix_pass(count, parts, to, load, digit, same)
                      : radix_pass(count, parts, to, stored, digit, same);
    }
    from = to;
  }
  if (passes == 0) {
    parallel_for(count, kGrainBytes / 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) out[i] = finish(load(i));
    });
  }
}

/// Entries of a short or middling line in order; `entries` and `other` have room for `count`.
template <class T, bool descending>
std::uint64_t* sorted_entries(const BitsOf<T>* x, std::int64_t count, std::uint64_t* entries, std::uint64_t* other) {
  for (std::int64_t i = 0; i < count; ++i) {
    entries[i] = std::uint64_t{sort_key<T, descending>(x[i])} << 32 | static_cast<std::uint64_t>(i);
  }
  if (count > kShortLine) {
    return radix_sort(entries, other, count, 4, 4 + static_cast<int>(sizeof(T)), [](std::uint64_t e) { return e; });
  }
  std::sort(entries, entries + count);
  return entries;
}

template <class T, bool descending>
WideEntry* sorted_wide_entries(const BitsOf<T>* x, std::int64_t count, WideEntry* entries, WideEntry* other) {
  for (std::int64_t i = 0; i < count; ++i) {
    entries[i] = {sort_key<T, descending>(x[i]), static_cast<std::uint64_t>(i)};
  }
  if (count > kShortLine) {
    return radix_sort(entries, other, count, 0, static_cast<int>(sizeof(T)), [](const WideEntry& e) { return e.key; });
  }
  std::sort(entries, entries + count);
  return entries;
}

/// The values of a line in order, equal ones as they come. `scratch` has value_scratch_bytes.
template <class T, bool descending>
void sort_values_of_line(const BitsOf<T>* x, BitsOf<T>* out, std::int64_t count, void* scratch) {
  using U = BitsOf<T>;
  const auto key = [](U bits) { return sort_key<T, descending>(bits); };
  if (count >= kLongLine) {
    const U differing = differing_bits<U>(count, [&](std::int64_t i) { return key(x[i]); });
    U* buffers[2] = {out, static_cast<U*>(scratch)};
    radix_sort_long(
        count, buffers, out, differing, [x](std::int64_t i) { return x[i]; }, key, [](U bits) { return bits; });
  } else if (count > kShortLine) {
    std::copy_n(x, count, out);
    const U* sorted = radix_sort(out, static_cast<U*>(scratch), count, 0, static_cast<int>(sizeof(U)), key);
    if (sorted != out) std::copy_n(sorted, count, out);
  } else if constexpr (sizeof(T) <= 4) {
    const std::uint64_t* entries =
        sorted_entries<T, descending>(x, count, static_cast<std::uint64_t*>(scratch), nullptr);
    for (std::int64_t i = 0; i < count; ++i) out[i] = x[static_cast<std::uint32_t>(entries[i])];
  } else {
    const WideEntry* entries = sorted_wide_entries<T, descending>(x, count, static_cast<WideEntry*>(scratch), nullptr);
    for (std::int64_t i = 0; i < count; ++i) out[i] = x[entries[i].index];
  }
}

/// The positions that sort a line. `scratch` has index_scratch_bytes.
template <class T, bool descending>
void sort_indices_of_line(const BitsOf<T>* x, std::int64_t* out, std::int64_t count, void* scratch) {
  using U = BitsOf<T>;
  const auto key_of = [x](std::int64_t i) { return sort_key<T, descending>(x[i]); };
  const bool narrow = sizeof(T) <= 4 && count >> 32 == 0;
  if (count >= kLongLine && narrow) {
    // The result has room for the entries of every second pass.
    std::uint64_t* buffers[2] = {reinterpret_cast<std::uint64_t*>(out), static_cast<std::uint64_t*>(scratch)};
    radix_sort_long(
        count, buffers, out, differing_bits<U>(count, key_of),
        [key_of](std::int64_t i) { return std::uint64_t{key_of(i)} << 32 | static_cast<std::uint64_t>(i); },
        [](std::uint64_t entry) { return entry >> 32; },
        [](std::uint64_t entry) { return static_cast<std::int64_t>(entry & 0xffffffffU); });
  } else if (count >= kLongLine) {
    WideEntry* buffers[2] = {static_cast<WideEntry*>(scratch), static_cast<WideEntry*>(scratch) + count};
    radix_sort_long(
        count, buffers, out, differing_bits<U>(count, key_of),
        [key_of](std::int64_t i) { return WideEntry{key_of(i), static_cast<std::uint64_t>(i)}; },
        [](const WideEntry& entry) { return entry.key; },
        [](const WideEntry& entry) { return static_cast<std::int64_t>(entry.index); });
  } else if constexpr (sizeof(T) <= 4) {
    auto* entries = static_cast<std::uint64_t*>(scratch);
    const std::uint64_t* sorted = sorted_entries<T, descending>(x, count, entries, entries + count);
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<std::int64_t>(sorted[i] & 0xffffffffU);
  } else {
    auto* entries = static_cast<WideEntry*>(scratch);
    const WideEntry* sorted = sorted_wide_entries<T, descending>(x, count, entries, entries + count);
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<std::int64_t>(sorted[i].index);
  }
}

}  // namespace lento::cpu

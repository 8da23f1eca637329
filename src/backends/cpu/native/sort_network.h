// Short lines sorted many at a time: each lane of a vector is a line, and the same comparisons are made in all of them
// (Batcher's odd-even merge sort, which needs to know nothing of the values).
//
// The keys themselves are sorted. Where one does not say which bits its element has (-0, nan), and where positions are
// asked for, the position is part of what is sorted, or the lines are left to another way.
#pragma once

#include "backends/cpu/native/sort_key.h"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lento::cpu {

/// Lines longer than this do not stay in the caches as vectors.
inline constexpr std::int64_t kNetworkValues = 1024;
inline constexpr std::int64_t kNetworkIndices = 512;

/// Sorts `count` vectors of 64 bytes, each lane for itself.
void sort_lanes(std::uint32_t* keys, std::int64_t count);
void sort_lanes(std::uint64_t* keys, std::int64_t count);

/// What keys of T are sorted as.
template <class T>
using LaneKey = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;
template <class T>
inline constexpr std::int64_t kValueLanes = 64 / sizeof(LaneKey<T>);
inline constexpr std::int64_t kIndexLanes = 8;

/// Element k of line j is at k * step + j * line_step, in the operand and in the result; one of the steps is 1.
struct LaneLayout {
  std::int64_t count = 0;  // elements of a line
  std::int64_t lines = 0;
  std::int64_t step = 1;
  std::int64_t line_step = 1;
};

/// The bits of an element that is neither nan nor -0, given its key.
template <class T, bool descending>
constexpr BitsOf<T> bits_of_key(BitsOf<T> key) {
  using U = BitsOf<T>;
  constexpr U kSign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  const U bits = descending ? static_cast<U>(~key) : key;
  if constexpr (std::signed_integral<T>) return bits ^ kSign;
  if constexpr (std::integral<T>) return bits;
  return (bits & kSign) != 0 ? static_cast<U>(bits ^ kSign) : static_cast<U>(~bits);
}

/// Writes the keys of `count` elements that follow each other; not 0 when one of the elements is nan or -0.
template <class T, bool descending>
int keys_of_run(const BitsOf<T>* x, std::int64_t count, LaneKey<T>* keys) {
  using U = BitsOf<T>;
  constexpr U kSign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  int special = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    keys[i] = sort_key<T, descending>(x[i]);
    if constexpr (!std::integral<T>) {
      special |=
          static_cast<int>(x[i] == kSign) | static_cast<int>((x[i] & static_cast<U>(~kSign)) > infinity_bits<T>());
    }
  }
  return special;
}

/// Sorts up to kValueLanes<T> lines; `keys` has room for 64 bytes per element of a line. False, and nothing is written,
/// when an element cannot be had back from its key.
template <class T, bool descending>
bool sort_values_in_lanes(const BitsOf<T>* x, BitsOf<T>* out, const LaneLayout& lines, LaneKey<T>* keys) {
  constexpr std::int64_t kLanes = kValueLanes<T>;
  LaneKey<T> run[kNetworkValues];
  int special = 0;
  if (lines.lines < kLanes) std::fill_n(keys, lines.count * kLanes, LaneKey<T>{0});
  // Keys are made of elements that follow each other, which the compiler vectorises, and only then put into lanes.
  if (lines.step == 1) {
    for (std::int64_t j = 0; j < lines.lines; ++j) {
      special |= keys_of_run<T, descending>(x + j * lines.line_step, lines.count, run);
      for (std::int64_t k = 0; k < lines.count; ++k) keys[k * kLanes + j] = run[k];
    }
  } else {
    for (std::int64_t k = 0; k < lines.count; ++k) {
      special |= keys_of_run<T, descending>(x + k * lines.step, lines.lines, keys + k * kLanes);
    }
  }
  if (special != 0) return false;
  sort_lanes(keys, lines.count);
  if (lines.step == 1) {
    for (std::int64_t j = 0; j < lines.lines; ++j) {
      BitsOf<T>* to = out + j * lines.line_step;
      for (std::int64_t k = 0; k < lines.count; ++k) run[k] = keys[k * kLanes + j];
      for (std::int64_t k = 0; k < lines.count; ++k) to[k] = bits_of_key<T, descending>(static_cast<BitsOf<T>>(run[k]));
    }
  } else {
    for (std::int64_t k = 0; k < lines.count; ++k) {
      for (std::int64_t j = 0; j < lines.lines; ++j) {
        out[k * lines.step + j] = bits_of_key<T, descending>(static_cast<BitsOf<T>>(keys[k * kLanes + j]));
      }
    }
  }
  return true;
}

/// The positions that sort up to kIndexLanes lines of elements of at most 4 bytes.
template <class T, bool descending>
void sort_indices_in_lanes(const BitsOf<T>* x, std::int64_t* out, const LaneLayout& lines, std::uint64_t* entries) {
  for (std::int64_t k = 0; k < lines.count; ++k) {
    for (std::int64_t j = 0; j < kIndexLanes; ++j) {
      const std::uint64_t key =
          j < lines.lines ? sort_key<T, descending>(x[k * lines.step + j * lines.line_step]) : BitsOf<T>{0};
      entries[k * kIndexLanes + j] = key << 32 | static_cast<std::uint64_t>(k);
    }
  }
  sort_lanes(entries, lines.count);
  for (std::int64_t k = 0; k < lines.count; ++k) {
    for (std::int64_t j = 0; j < lines.lines; ++j) {
      out[k * lines.step + j * lines.line_step] = static_cast<std::int64_t>(entries[k * kIndexLanes + j] & 0xffffffffU);
    }
  }
}

}  // namespace lento::cpu

// Squares of vectors, turned in registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

// Everything is inlined into functions that are compiled for one instruction set each, and only there are vectors
// passed.
#pragma GCC diagnostic ignored "-Wpsabi"
#define LENTO_INLINE [[gnu::always_inline]] inline
#define LENTO_UNROLL _Pragma("GCC unroll 32")

namespace lento::cpu::lanes {

/// A vector of `bytes` bytes; 64 bytes of a buffer are `kParts` of them.
template <class T, int bytes>
struct Vectors {
  using Vector [[gnu::vector_size(bytes)]] = T;
  using Unaligned [[gnu::vector_size(bytes), gnu::aligned(sizeof(T)), gnu::may_alias]] = T;
  static constexpr std::int64_t kLanes = bytes / static_cast<int>(sizeof(T));
  static constexpr std::int64_t kParts = 64 / bytes;
};

template <class T, int bytes>
using Tile = typename Vectors<T, bytes>::Vector[static_cast<std::size_t>(Vectors<T, bytes>::kLanes)];

/// Elements of two vectors by turns: their first halves, or their second halves.
template <class V, std::size_t... i>
LENTO_INLINE V by_turns(const V& a, const V& b, bool second, std::index_sequence<i...>) {
  constexpr std::size_t kCount = sizeof...(i);
  return second ? __builtin_shufflevector(a, b, (kCount / 2 + i / 2 + (i % 2) * kCount)...)
                : __builtin_shufflevector(a, b, (i / 2 + (i % 2) * kCount)...);
}

/// Transposes a square of vectors: as often as its size can be halved, the first half's vectors are interleaved with
/// those of the second.
template <class T, int bytes>
LENTO_INLINE void transpose(Tile<T, bytes>& tile) {
  using V = typename Vectors<T, bytes>::Vector;
  constexpr std::int64_t kSize = Vectors<T, bytes>::kLanes;
  constexpr std::make_index_sequence<static_cast<std::size_t>(kSize)> kIndices;
  LENTO_UNROLL
  for (std::int64_t round = 1; round < kSize; round *= 2) {
    Tile<T, bytes> next;
    LENTO_UNROLL
    for (std::int64_t i = 0; i < kSize / 2; ++i) {
      next[2 * i] = by_turns<V>(tile[i], tile[i + kSize / 2], false, kIndices);
      next[2 * i + 1] = by_turns<V>(tile[i], tile[i + kSize / 2], true, kIndices);
    }
    LENTO_UNROLL
    for (std::int64_t i = 0; i < kSize; ++i) tile[i] = next[i];
  }
}

}  // namespace lento::cpu::lanes

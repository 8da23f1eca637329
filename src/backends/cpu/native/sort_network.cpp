#include "backends/cpu/native/sort_network.h"

#include "backends/cpu/native/elements.h"

#include <algorithm>

namespace lento::cpu {

namespace {

/// 64 bytes of keys. Where a processor has no such vectors the compiler takes several smaller ones.
template <class K>
struct LanesOf {
  typedef K Type __attribute__((vector_size(64), aligned(alignof(K)), may_alias));
};

/// Vectors first … first + count - 1 get the smaller, those at `distance` behind them the larger keys of each pair.
template <class K>
[[gnu::always_inline]] inline void exchange(K* keys, std::int64_t first, std::int64_t distance, std::int64_t count) {
  using Lanes = typename LanesOf<K>::Type;
  Lanes* low = reinterpret_cast<Lanes*>(keys) + first;
  Lanes* high = low + distance;
  for (std::int64_t i = 0; i < count; ++i) {
    const Lanes a = low[i], b = high[i];
    low[i] = a < b ? a : b;
    high[i] = a < b ? b : a;
  }
}

template <class K>
[[gnu::always_inline]] inline void odd_even_merge_sort(K* keys, std::int64_t count) {
  for (std::int64_t merged = 1; merged < count; merged *= 2) {
    for (std::int64_t distance = merged; distance >= 1; distance /= 2) {
      for (std::int64_t j = distance % merged; j + distance < count; j += 2 * distance) {
        // Of the runs of `distance` vectors, those whose partners belong to the same pair of merged sequences. Either
        // all of a run do or none, since sequences are longer than it.
        if ((j ^ (j + distance)) >= 2 * merged) continue;
        exchange(keys, j, distance, std::min(distance, count - j - distance));
      }
    }
  }
}

// Apart from what others call: g++ exports a function that it makes for every processor, unless it is of one file
// alone.
LENTO_FOR_EVERY_PROCESSOR void sort_on(std::uint32_t* keys, std::int64_t count) { odd_even_merge_sort(keys, count); }
LENTO_FOR_EVERY_PROCESSOR void sort_on(std::uint64_t* keys, std::int64_t count) { odd_even_merge_sort(keys, count); }

}  // namespace

void sort_lanes(std::uint32_t* keys, std::int64_t count) { sort_on(keys, count); }
void sort_lanes(std::uint64_t* keys, std::int64_t count) { sort_on(keys, count); }

}  // namespace lento::cpu

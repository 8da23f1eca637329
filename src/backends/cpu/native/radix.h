// Stable sorting by one byte of the key after the other, the lowest first. A pass counts how often each value of the
// byte occurs, which says where the elements go, and moves them there in order.
//
// A long line is cut into parts, one per thread or a few: each counts for itself, and as the elements of the first part
// go before those of the second that have the same byte, the result does not depend on the parts. Elements are
// collected in lines of the cache and written past it: 256 places that are a power of two apart would push each other
// out.
#pragma once

#include "backends/cpu/native/elements.h"
#include "backends/cpu/threads.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lento::cpu {

inline constexpr int kRadix = 256;

/// Writes elements to 256 places at once, in whole cache lines.
template <class D>
class LineWriter {
 public:
  /// `next[d]` is where the next element for place d goes.
  LineWriter(D* out, const std::int64_t* next) : out_(out) {
    bias_ = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out) / sizeof(D)) % kLine;
    for (int d = 0; d < kRadix; ++d) next_[d] = first_[d] = next[d];
  }

  void put(std::size_t place, D element) {
    const std::int64_t at = next_[place]++;
    const std::int64_t slot = (at + bias_) % kLine;
    lines_[place][slot] = element;
    if (slot == kLine - 1) flush(place, at);
  }

  /// Writes what is left.
  void finish() {
    for (std::size_t d = 0; d < kRadix; ++d) {
      const std::int64_t begin = std::max(first_[d], next_[d] - (next_[d] + bias_) % kLine);
      for (std::int64_t at = begin; at < next_[d]; ++at) out_[at] = lines_[d][(at + bias_) % kLine];
    }
    finish_streaming();
  }

 private:
  static constexpr std::int64_t kLine = 64 / sizeof(D);

  void flush(std::size_t place, std::int64_t last) {
    const std::int64_t begin = last - (kLine - 1);
    if (begin >= first_[place]) {
      stream_line(out_ + begin, lines_[place]);
    } else {
      for (std::int64_t at = first_[place]; at <= last; ++at) out_[at] = lines_[place][(at + bias_) % kLine];
    }
  }

  D* out_;
  std::int64_t bias_;  // elements between the start of a line and `out`
  std::int64_t next_[kRadix];
  std::int64_t first_[kRadix];
  alignas(64) D lines_[kRadix][kLine];
};

/// One pass over a long line: `load(i)` is element i, `digit(element)` its byte, `convert(element)` what is written.
/// The line is cut into `parts` of equal length.
template <class D, class Load, class Digit, class Convert>
void radix_pass(std::int64_t count, std::int64_t parts, D* out, Load load, Digit digit, Convert convert) {
  const std::int64_t length = (count + parts - 1) / parts;
  std::vector<std::array<std::int64_t, kRadix>> next(static_cast<std::size_t>(parts));
  parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      // Two counts, since neighbours often have the same byte and would wait for each other.
      std::uint32_t even[kRadix] = {}, odd[kRadix] = {};
      const std::int64_t last = std::min(count, (p + 1) * length);
      std::int64_t i = p * length;
      for (; i + 1 < last; i += 2) {
        ++even[digit(load(i))];
        ++odd[digit(load(i + 1))];
      }
      if (i < last) ++even[digit(load(i))];
      for (std::size_t d = 0; d < kRadix; ++d) {
        next[static_cast<std::size_t>(p)][d] = std::int64_t{even[d]} + std::int64_t{odd[d]};
      }
    }
  });
  std::int64_t total = 0;
  for (std::size_t d = 0; d < kRadix; ++d) {
    for (auto& part : next) {
      const std::int64_t here = part[d];
      part[d] = total;
      total += here;
    }
  }
  parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      LineWriter<D> writer(out, next[static_cast<std::size_t>(p)].data());
      const std::int64_t last = std::min(count, (p + 1) * length);
      for (std::int64_t i = p * length; i < last; ++i) {
        const auto element = load(i);
        writer.put(digit(element), convert(element));
      }
      writer.finish();
    }
  });
}

/// How many parts a long line is cut into.
inline std::int64_t radix_parts(std::int64_t count) {
  constexpr std::int64_t kLeast = std::int64_t{1} << 15;
  if (inside_parallel_for()) return (count >> 31) + 1;
  return std::max((count >> 31) + 1, std::min<std::int64_t>(2 * get_num_threads(), count / kLeast));
}

/// The bytes of the keys that are not the same in all elements; `key(i)` is that of element i.
template <class K, class Key>
K differing_bits(std::int64_t count, Key key) {
  if (count == 0) return 0;
  const K first = key(0);
  std::atomic<std::uint64_t> differing{0};
  parallel_for(count, std::int64_t{1} << 15, [&](std::int64_t begin, std::int64_t end) {
    K found = 0;
    for (std::int64_t i = begin; i < end; ++i) found |= key(i) ^ first;
    differing.fetch_or(found, std::memory_order_relaxed);
  });
  return static_cast<K>(differing.load());
}

}  // namespace lento::cpu

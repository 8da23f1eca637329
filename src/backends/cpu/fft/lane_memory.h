// Between lines in memory and the buffers of lanes.h. Where lines lie in one of the usual ways, whole vectors are
// moved and turned in registers; otherwise elements one by one. For lanes.cpp alone.
#pragma once

#include "backends/cpu/fft/lanes.h"
#include "backends/cpu/lane_tile.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace lento::cpu::lanes {

/// Elements 0, 2, … (or from 1 on) of two vectors one after the other.
template <class V, std::size_t... i>
LENTO_INLINE V every_second(const V& a, const V& b, std::size_t first, std::index_sequence<i...>) {
  return first == 0 ? __builtin_shufflevector(a, b, (2 * i)...) : __builtin_shufflevector(a, b, (2 * i + 1)...);
}

/// True when lane l is l steps of `step` from lane 0.
template <class T>
bool in_steps(const LineSet<T>& lines, std::int64_t step) {
  if (lines.count != kFftLanes<std::remove_const_t<T>>) return false;
  for (std::int64_t l = 1; l < lines.count; ++l) {
    if (lines.lanes[l] != lines.lanes[0] + l * step) return false;
  }
  return true;
}

/// How the two parts of elements lie, where there is a fast way.
enum class Form { other, interleaved_lines, planes, neighbours, interleaved_neighbours };

template <class T>
Form form_of(const LineSet<T>& lines) {
  if (lines.im == nullptr) return Form::other;
  const std::int64_t apart = lines.im - lines.re;
  if (lines.stride == 2 && (apart == 1 || apart == -1)) return Form::interleaved_lines;
  if (lines.stride == 1) return Form::planes;
  if (in_steps(lines, 1)) return Form::neighbours;
  if (in_steps(lines, 2) && (apart == 1 || apart == -1)) return Form::interleaved_neighbours;
  return Form::other;
}

template <class T, int bytes>
LENTO_INLINE void run_load(const LineSet<const T>& lines, std::int64_t count, T* buffer) {
  using V = typename Vectors<T, bytes>::Vector;
  using Unaligned = typename Vectors<T, bytes>::Unaligned;
  constexpr std::int64_t kLanes = Vectors<T, bytes>::kLanes;
  constexpr std::int64_t kRow = kFftLanes<T>;
  const Form form = form_of(lines);
  std::int64_t done = 0;
  if (form == Form::neighbours) {
    for (; done < count; ++done) {
      for (std::int64_t l = 0; l < kRow; l += kLanes) {
        const std::int64_t at = done * lines.stride + lines.lanes[0] + l;
        *reinterpret_cast<V*>(buffer + 2 * done * kRow + l) = *reinterpret_cast<const Unaligned*>(lines.re + at);
        *reinterpret_cast<V*>(buffer + (2 * done + 1) * kRow + l) = *reinterpret_cast<const Unaligned*>(lines.im + at);
      }
    }
  } else if (form == Form::interleaved_neighbours) {
    constexpr std::make_index_sequence<static_cast<std::size_t>(kLanes)> kIndices;
    const T* first = std::min(lines.re, lines.im) + lines.lanes[0];
    const std::int64_t re = lines.im < lines.re ? kRow : 0;
    for (; done < count; ++done) {
      for (std::int64_t l = 0; l < kRow; l += kLanes) {
        const T* at = first + done * lines.stride + 2 * l;
        const V a = *reinterpret_cast<const Unaligned*>(at), b = *reinterpret_cast<const Unaligned*>(at + kLanes);
        T* to = buffer + 2 * done * kRow + l;
        *reinterpret_cast<V*>(to + re) = every_second<V>(a, b, 0, kIndices);
        *reinterpret_cast<V*>(to + kRow - re) = every_second<V>(a, b, 1, kIndices);
      }
    }
  } else if (form == Form::interleaved_lines) {
    // A line is 2 count numbers, which become the rows of the buffer, two by two exchanged or not.
    const T* first = std::min(lines.re, lines.im);
    const std::int64_t swap = lines.im < lines.re ? 1 : 0;
    for (; done + kLanes / 2 <= count; done += kLanes / 2) {
      for (std::int64_t l = 0; l < kRow; l += kLanes) {
        Tile<T, bytes> tile;
        LENTO_UNROLL
        for (std::int64_t i = 0; i < kLanes; ++i) {
          tile[i] = *reinterpret_cast<const Unaligned*>(first + lines.lanes[l + i] + 2 * done);
        }
        transpose<T, bytes>(tile);
        LENTO_UNROLL
        for (std::int64_t i = 0; i < kLanes; ++i) {
          *reinterpret_cast<V*>(buffer + (2 * done + (i ^ swap)) * kRow + l) = tile[i];
        }
      }
    }
  } else if (form == Form::planes) {
    for (; done + kLanes <= count; done += kLanes) {
      for (std::int64_t l = 0; l < kRow; l += kLanes) {
        for (std::int64_t part = 0; part < 2; ++part) {
          const T* plane = part == 0 ? lines.re : lines.im;
          Tile<T, bytes> tile;
          LENTO_UNROLL
          for (std::int64_t i = 0; i < kLanes; ++i) {
            tile[i] = *reinterpret_cast<const Unaligned*>(plane + lines.lanes[l + i] + done);
          }
          transpose<T, bytes>(tile);
          LENTO_UNROLL
          for (std::int64_t i = 0; i < kLanes; ++i) {
            *reinterpret_cast<V*>(buffer + (2 * (done + i) + part) * kRow + l) = tile[i];
          }
        }
      }
    }
  }
  for (; done < count; ++done) {
    T* re = buffer + 2 * done * kRow;
    T* im = re + kRow;
    const std::int64_t at = done * lines.stride;
    for (std::int64_t l = 0; l < kRow; ++l) re[l] = lines.re[at + lines.lanes[l]];
    for (std::int64_t l = 0; l < kRow; ++l) im[l] = lines.im == nullptr ? T(0) : lines.im[at + lines.lanes[l]];
  }
}

template <class T, int bytes>
LENTO_INLINE void run_store(const LineSet<T>& lines, std::span<const std::int64_t> order, const T* buffer) {
  using V = typename Vectors<T, bytes>::Vector;
  using Unaligned = typename Vectors<T, bytes>::Unaligned;
  constexpr std::int64_t kLanes = Vectors<T, bytes>::kLanes;
  constexpr std::int64_t kRow = kFftLanes<T>;
  const auto count = static_cast<std::int64_t>(order.size());
  const auto position = [&](std::int64_t k)
                            __attribute__((always_inline)) { return order[static_cast<std::size_t>(k)]; };
  const Form form = form_of(lines);
  std::int64_t done = 0;
  if (form == Form::neighbours) {
    for (; done < count; ++done) {
      for (std::int64_t l = 0; l < kRow; l += kLanes) {
        const std::int64_t at = done * lines.stride + lines.lanes[0] + l;
        *reinterpret_cast<Unaligned*>(lines.re + at) =
            *reinterpret_cast<const V*>(buffer + 2 * position(done) * kRow + l);
        *reinterpret_cast<Unaligned*>(lines.im + at) =
            *reinterpret_cast<const V*>(buffer + (2 * position(done) + 1) * kRow + l);
      }
    }
  } else if (form == Form::interleaved_neighbours) {
    constexpr std::make_index_sequence<static_cast<std::size_t>(kLanes)> kIndices;
    T* first = std::min(lines.re, lines.im) + lines.lanes[0];
    const std::int64_t re = lines.im < lines.re ? kRow : 0;
    for (; done < count; ++done) {
      for (std::int64_t l = 0; l < kRow; l += kLanes) {
        const T* from = buffer + 2 * position(done) * kRow + l;
        const V a = *reinterpret_cast<const V*>(from + re), b = *reinterpret_cast<const V*>(from + kRow - re);
        T* at = first + done * lines.stride + 2 * l;
        *reinterpret_cast<Unaligned*>(at) = by_turns<V>(a, b, false, kIndices);
        *reinterpret_cast<Unaligned*>(at + kLanes) = by_turns<V>(a, b, true, kIndices);
      }
    }
  } else if (form == Form::interleaved_lines) {
    T* first = std::min(lines.re, lines.im);
    const std::int64_t swap = lines.im < lines.re ? 1 : 0;
    for (; done + kLanes / 2 <= count; done += kLanes / 2) {
      for (std::int64_t l = 0; l < kRow; l += kLanes) {
        Tile<T, bytes> tile;
        LENTO_UNROLL
        for (std::int64_t i = 0; i < kLanes; ++i) {
          tile[i] = *reinterpret_cast<const V*>(buffer + (2 * position(done + i / 2) + ((i & 1) ^ swap)) * kRow + l);
        }
        transpose<T, bytes>(tile);
        LENTO_UNROLL
        for (std::int64_t i = 0; i < kLanes; ++i) {
          if (l + i < lines.count) *reinterpret_cast<Unaligned*>(first + lines.lanes[l + i] + 2 * done) = tile[i];
        }
      }
    }
  }
  for (; done < count; ++done) {
    const T* re = buffer + 2 * position(done) * kRow;
    const T* im = re + kRow;
    const std::int64_t at = done * lines.stride;
    for (std::int64_t l = 0; l < lines.count; ++l) lines.re[at + lines.lanes[l]] = re[l];
    for (std::int64_t l = 0; lines.im != nullptr && l < lines.count; ++l) lines.im[at + lines.lanes[l]] = im[l];
  }
}

}  // namespace lento::cpu::lanes

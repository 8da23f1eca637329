// The inner loops of Fourier transforms: as many lines as a vector has lanes are transformed at once, element by
// element in vectors, so that no radix needs a shuffle and a line's bits do not depend on its neighbours.
//
// A buffer holds for each element a vector of real parts and one of imaginary parts. A transform runs in place, by
// decimation in frequency, and leaves element k of its result at position order[k]. There is only the forward
// transform: the inverse one is had by exchanging real and imaginary parts on the way in and out.
#pragma once

#include "backends/cpu/processors.h"

#include <cstdint>
#include <span>
#include <vector>

namespace lento::cpu {

/// Lines at once: what 64 bytes hold. With vectors of 32 bytes two of them are used.
template <class T>
inline constexpr std::int64_t kFftLanes = 64 / static_cast<std::int64_t>(sizeof(T));

/// A prime factor above this is left to Bluestein's method.
inline constexpr std::int64_t kLargestRadix = 13;

/// A transform of `length` elements whose prime factors are at most kLargestRadix.
template <class T>
struct LaneTransform {
  struct Stage {
    std::int64_t radix;
    std::int64_t length;      // of the blocks it cuts into `radix` parts
    std::size_t twiddles;     // where those of the stage begin: (radix - 1) * length / radix complex numbers
    std::size_t radix_roots;  // where exp(-2 pi i k / radix) begin
  };
  std::int64_t length = 1;
  std::vector<Stage> stages;
  std::vector<T> numbers;           // real and imaginary parts by turns
  std::vector<std::int64_t> order;  // where in the buffer each element of the result is

  static LaneTransform make(std::int64_t length);
  std::size_t buffer_elements() const { return static_cast<std::size_t>(2 * kFftLanes<T> * length); }
};

/// Where the lines of a buffer lie in memory: element k of lane l has its real part at re[k * stride + lanes[l]], its
/// imaginary part at im[…]. Lanes without a line repeat another one on the way in, and are left out on the way out.
template <class T>
struct LineSet {
  T* re;
  T* im;  // null: all 0 on the way in, not wanted on the way out
  std::int64_t stride;
  std::int64_t lanes[kFftLanes<T>];
  std::int64_t count;  // lanes that have a line
};

/// The loops, compiled for one instruction set. Buffers are aligned to 64 bytes.
template <class T>
struct LaneLoops {
  /// Elements 0 … count - 1 into the buffer.
  void (*load)(const LineSet<const T>& lines, std::int64_t count, T* buffer);
  /// The buffer's positions order[0], order[1], … to elements 0, 1, …
  void (*store)(const LineSet<T>& lines, std::span<const std::int64_t> order, const T* buffer);
  void (*transform)(const LaneTransform<T>& transform, T* buffer);
  /// Position order[k] times factors[k], a complex number for all lanes.
  void (*scale)(std::span<const std::int64_t> order, const T* factors, T* buffer);
  /// Position order[k] times a number for each lane: vectors of real parts and of imaginary parts, by turns.
  void (*scale_lanes)(std::span<const std::int64_t> order, const T* factors, T* buffer);
  /// From the transform of n / 2 complex numbers, z[j] = x[2 j] + i x[2 j + 1], to elements 0 … n / 2 of that of the n
  /// real x; the last one goes to position n / 2. `roots` are exp(-2 pi i k / n), k = 0 … n / 4.
  void (*split_real)(std::span<const std::int64_t> order, const T* roots, T* buffer);
  /// The other way round: from elements 0 … n / 2 of a Hermitian sequence to the n / 2 numbers whose inverse transform
  /// is x, real and imaginary parts exchanged.
  void (*join_real)(std::int64_t half, const T* roots, T* buffer);
  /// to's position k = from's position order[k] times factors[k], real and imaginary parts exchanged.
  void (*multiply_exchanged)(std::span<const std::int64_t> order, const T* factors, const T* from, T* to);
};

/// The loops for wide vectors and those for shorter ones give the same bits.
template <class T>
const LaneLoops<T>& lane_loops(bool wide = has_wide_vectors());

/// exp(-2 pi i k / n) for k = 0 … count - 1, right to the last bit or so.
std::vector<double> unit_roots(std::int64_t n, std::int64_t count);

}  // namespace lento::cpu

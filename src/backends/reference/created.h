// Elements that are made of numbers and of where they stand: of iota and of random bits.
#pragma once

#include <lento/scalar.h>

#include "backends/reference/convert.h"
#include "backends/reference/philox.h"

#include <array>
#include <complex>
#include <concepts>
#include <cstdint>

namespace lento::reference {

/// Element number `position` of start, start + step, …: whole numbers in 64 bits, which wrap, others in double
/// precision.
template <class T>
T iota_element(std::int64_t position, const Scalar& start, const Scalar& step) {
  if constexpr (std::integral<T>) {
    return convert<T>(start.to<std::uint64_t>() + static_cast<std::uint64_t>(position) * step.to<std::uint64_t>());
  } else if constexpr (Complex<T>) {
    return convert<T>(start.to<std::complex<double>>() +
                      static_cast<double>(position) * step.to<std::complex<double>>());
  } else {
    return convert<T>(start.to<double>() + static_cast<double>(position) * step.to<double>());
  }
}

/// Every backend gives exactly these:
///   uint32: element i is word i mod 4 of block counter + i / 4;
///   uint64: element i has as low half word 2 (i mod 2), and as high half word 2 (i mod 2) + 1, of block counter + i /
///   2;
/// where the blocks are those of philox.h and their numbers wrap around at 2^64.
template <class T>
T random_element(std::uint64_t position, std::uint64_t key, std::uint64_t counter) {
  if constexpr (sizeof(T) == 4) {
    return philox_block(key, counter + position / 4)[position % 4];
  } else {
    const std::array<std::uint32_t, 4> words = philox_block(key, counter + position / 2);
    const std::uint64_t high = words[2 * (position % 2) + 1];
    return high << 32 | words[2 * (position % 2)];
  }
}

}  // namespace lento::reference

// Elements as unsigned integers in the order of sorting (backends/reference/arithmetic.h): equal elements have equal
// keys, so -0 has that of +0 and every nan the last one. The bits of an element cannot be had back from its key.
#pragma once

#include "backends/reference/element_types.h"

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace lento::cpu {

template <std::size_t kBytes>
using UnsignedOf = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t, std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;

/// What an element of type T looks like in memory, and its key.
template <class T>
using BitsOf = UnsignedOf<sizeof(T)>;

template <class T>
inline constexpr bool kHasKey = !reference::Complex<T>;

/// The bits of +infinity; those of nans are larger.
template <class T>
constexpr BitsOf<T> infinity_bits() {
  if constexpr (std::same_as<T, float>) return 0x7f800000U;
  if constexpr (std::same_as<T, double>) return 0x7ff0000000000000U;
  if constexpr (std::same_as<T, float16>) return 0x7c00U;
  return static_cast<BitsOf<T>>(0x7f80U);
}

/// The key of an element, given its bits; of the order turned round when `descending`.
template <class T, bool descending>
constexpr BitsOf<T> sort_key(BitsOf<T> bits) {
  using U = BitsOf<T>;
  constexpr U kSign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  U key = bits;
  if constexpr (std::signed_integral<T>) {
    key = bits ^ kSign;
  } else if constexpr (!std::integral<T>) {
    const U magnitude = bits & static_cast<U>(~kSign);
    const bool negative = (bits & kSign) != 0 && magnitude != 0;
    key = negative ? static_cast<U>(~bits) : static_cast<U>(magnitude | kSign);
    key = magnitude > infinity_bits<T>() ? std::numeric_limits<U>::max() : key;
  }
  return descending ? static_cast<U>(~key) : key;
}

}  // namespace lento::cpu

// Numbers that count from 0 on only, given to ops whose indices below 0 count from the end.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

namespace lento {

/// A number from -kCountableRows on and below 0 is moved by this, where no index is in range, and back again where an
/// error names it. (An index of take that is really in that one part of the numbers is named wrongly, and refused all
/// the same.) Numbers below are left as they are: they are out of range of anything that has elements.
inline constexpr std::int64_t kBelowAllIndices = -(std::int64_t{1} << 62);
inline constexpr int kCountableBits = 48;
inline constexpr std::int64_t kCountableRows = std::int64_t{1} << kCountableBits;

template <std::integral T>
T index_as_given(T index) {
  const bool moved =
      std::cmp_less(index, kBelowAllIndices) && std::cmp_greater_equal(index, kBelowAllIndices - kCountableRows);
  return moved ? static_cast<T>(static_cast<std::int64_t>(index) - kBelowAllIndices) : index;
}

}  // namespace lento

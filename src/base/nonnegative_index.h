// Numbers that count from 0 on only, given to ops whose indices below 0 count from the end.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace lento {

/// A number in [-kCountableRows, 0) is shifted by this, to where no index is valid; messages shift it back. An index of
/// take that really lies there is refused all the same, but named wrongly. Numbers below are left as they are: they are
/// out of range of anything that has elements.
inline constexpr std::int64_t kBelowAllIndices = -(std::int64_t{1} << 62);
inline constexpr int kCountableBits = 48;
inline constexpr std::int64_t kCountableRows = std::int64_t{1} << kCountableBits;

/// Indices that stand for a value that was refused: they are out of range of everything, and the error says what was
/// wrong with the value instead of naming the index. So values that are known only when they are computed are checked
/// like indices (clauses T10 and E7).
enum class Refused : std::int64_t {
  quantile = std::numeric_limits<std::int64_t>::min() + 1,
  histogram_range,
  histogram_edges,
};

/// What the error says; empty for an index that is just out of range.
inline std::string_view refusal(std::int64_t index) {
  switch (static_cast<Refused>(index)) {
    case Refused::quantile:
      return "a quantile lies between 0 and 1, a percentile between 0 and 100";
    case Refused::histogram_range:
      return "the range of the values is not finite, and no range was given";
    case Refused::histogram_edges:
      return "the edges of the bins must not decrease";
  }
  return "";
}

template <std::integral T>
T index_as_given(T index) {
  const bool moved =
      std::cmp_less(index, kBelowAllIndices) && std::cmp_greater_equal(index, kBelowAllIndices - kCountableRows);
  return moved ? static_cast<T>(static_cast<std::int64_t>(index) - kBelowAllIndices) : index;
}

}  // namespace lento

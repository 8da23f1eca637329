// Reach: which positions are read by strides, counted from that of the first element.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace lento {

struct Reach {
  std::int64_t low = 0;    // at most 0
  std::int64_t high = -1;  // at least 0, or -1 when nothing is read

  friend bool operator==(const Reach&, const Reach&) = default;
  bool empty() const { return high < low; }
  /// True when all positions lie in 0 … extent - 1 for some first one.
  bool fits(std::int64_t extent) const {
    return empty() ||
           static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) < static_cast<std::uint64_t>(extent);
  }
  /// True when they do for this first one.
  bool fits(std::int64_t first, std::int64_t extent) const {
    return empty() || (fits(extent) && first >= -low && first < extent - high);
  }
};

/// Nothing when the positions cannot be counted in 64 bits. Sizes are not negative; there are as many as strides.
inline std::optional<Reach> reach_of(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
  if (std::ranges::find(sizes, 0) != sizes.end()) return Reach{};
  Reach reach{0, 0};
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    std::int64_t distance = 0;
    std::int64_t& end = strides[d] < 0 ? reach.low : reach.high;
    if (__builtin_mul_overflow(sizes[d] - 1, strides[d], &distance) || __builtin_add_overflow(end, distance, &end)) {
      return std::nullopt;
    }
  }
  return reach;
}

}  // namespace lento

// What a slice selects of an axis.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lento {

struct SliceRange {
  std::int64_t start;
  std::int64_t size;
  std::int64_t step;  // 1 where there are fewer than two elements
};

/// As Python's slice.indices(): null bounds are left out. The step must not be 0.
inline SliceRange slice_range(const std::int64_t* first, const std::int64_t* last, std::int64_t step,
                              std::int64_t extent) {
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? extent : extent - 1;
  const auto clamped = [&](std::int64_t bound) { return std::clamp(bound < 0 ? bound + extent : bound, low, high); };
  const std::int64_t start = first != nullptr ? clamped(*first) : step > 0 ? low : high;
  const std::int64_t stop = last != nullptr ? clamped(*last) : step > 0 ? high : low;
  const std::int64_t span = step > 0 ? stop - start : start - stop;
  if (span <= 0) return {start, 0, 1};
  if (step == 1) return {start, span, 1};
  // The size of a step as unsigned, because that of the smallest integer has no other.
  const std::uint64_t stride = step > 0 ? static_cast<std::uint64_t>(step) : -static_cast<std::uint64_t>(step);
  const std::int64_t size = static_cast<std::int64_t>(static_cast<std::uint64_t>(span - 1) / stride) + 1;
  return {start, size, size == 1 ? 1 : step};
}

}  // namespace lento

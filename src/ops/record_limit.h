// How much one call may record: a loop over a length records something per element, and would go on for hours, without
// an end that anybody could wait for, when that length is a mistake.
#pragma once

#include "base/fail.h"

#include <cstdint>
#include <string_view>

namespace lento::composite {

inline constexpr std::int64_t kMostParts = std::int64_t{1} << 20;

/// Throws ValueError when one call would record too many `what`: "parts", "coefficients".
inline void require_recordable(std::int64_t count, std::string_view what) {
  if (count > kMostParts) fail<ValueError>("{} {} are too many: at most {}", count, what, kMostParts);
}

}  // namespace lento::composite

// The constants of the Array API. `newaxis` is in indexing.h.
#pragma once

#include <limits>
#include <numbers>

namespace lento {

inline constexpr double pi = std::numbers::pi;
inline constexpr double e = std::numbers::e;
inline constexpr double inf = std::numeric_limits<double>::infinity();
/// After `using namespace lento`, write lento::nan: the C library has a function of this name.
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace lento

// How many parts of a length a range has, the last of which may be shorter.
#pragma once

#include <cstdint>

namespace lento::cpu {

constexpr std::int64_t divide_up(std::int64_t range, std::int64_t part) { return (range + part - 1) / part; }

}  // namespace lento::cpu

// The order in which a running sum combines its elements: the specification that every backend reproduces bit for bit.
//
// Strictly from left to right would mean that each addition waits for the one before, whatever the machine, and that
// the rounding error grows with the length. So a line is cut into blocks of 1024 elements, and
//
//   1. within a block, elements are added from left to right, which gives each its local sum;
//   2. the carry of block 1 is the last local sum of block 0; that of block b + 1 is the carry of block b plus the last
//      local sum of block b;
//   3. an element of block 0 is its local sum, one of a later block the carry of its block plus its local sum.
//
// The last element of a block is therefore the carry of the next one, and running sums of what is not negative never
// decrease. Lines of up to 1024 elements are summed from left to right. Running products keep that order at any length
// (a product of many elements overflows where the running one does not); maxima, minima and integers do not depend on
// the order.
#pragma once

#include <cstdint>

namespace lento {

inline constexpr std::int64_t kScanBlock = 1024;

}  // namespace lento

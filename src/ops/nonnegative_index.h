// Classes and rows are numbered from 0 on: a number below 0 is an error there, and does not count from the end.
#pragma once

#include "base/nonnegative_index.h"
#include "ops/composite_helpers.h"
#include "ops/nonnegative_index.calls.gen.h"

#include <cstdint>
#include <limits>

namespace lento::composite {

/// Positions as int64. Those from 2^63 on, which only uint64 has, become the last below: out of range of everything as
/// they were, where others of the same bits would count from the end.
inline Tensor signed_index(const Tensor& positions) {
  if (positions.dtype() != DType::uint64) return converted(positions, DType::int64);
  return converted(minimum(positions, std::numeric_limits<std::int64_t>::max()), DType::int64);
}

/// For take and its like, which refuse what was below 0 and name it as it was. `numbers` are int64.
inline Tensor nonnegative_index(const Tensor& numbers) {
  const Tensor below = equal(bitwise_right_shift(numbers, kCountableBits), -1);  // from -kCountableRows to -1
  return where(below, add(numbers, kBelowAllIndices), numbers);
}

}  // namespace lento::composite

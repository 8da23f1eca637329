// Classes and rows are numbered from 0 on: a number below 0 is an error there, and does not count from the end.
#pragma once

#include "base/nonnegative_index.h"
#include "ops/nonnegative_index.calls.gen.h"

namespace lento::composite {

/// For take and its like, which refuse what was below 0 and name it as it was. `numbers` are int64.
inline Tensor nonnegative_index(const Tensor& numbers) {
  const Tensor below = equal(bitwise_right_shift(numbers, kCountableBits), -1);  // from -kCountableRows to -1
  return where(below, add(numbers, kBelowAllIndices), numbers);
}

}  // namespace lento::composite

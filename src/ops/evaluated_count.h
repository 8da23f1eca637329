// The one number that is read when a shape depends on data (clause T10): how many elements are not zero.
#pragma once

#include <lento/tensor.h>

#include <cstdint>

namespace lento::composite {

/// How many elements of `x` differ from zero, evaluated now. The thread remembers the last few answers, so that
/// `z[mask] = f(z[mask], c[mask])` waits once; but none for memory that somebody else may change.
std::int64_t evaluated_count(const Tensor& x);

}  // namespace lento::composite

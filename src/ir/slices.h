// Slices that begin at numbers of a run: whether they lie inside. The host knows the numbers when it issues the run, so
// that no device has to check them, and all raise the same error (clause E7).
#pragma once

#include <lento/ints.h>
#include <lento/scalar.h>

#include "ir/attrs.h"
#include "ir/graph.h"

#include <cstdint>
#include <span>

namespace lento {

/// Throws IndexError when a slice of shape `part` reaches outside a tensor of shape `whole`.
void require_slice_inside(const Shape& whole, const Shape& part, std::span<const Scalar> starts, const Ints& axes,
                          const Ints& steps);

/// Throws IndexError when as_strided, from the element `first` on, reaches outside the elements of its last axis.
void require_strides_inside(std::int64_t length, std::int64_t first, const Ints& sizes, const Ints& strides);

/// What the kernels of strided_slice, strided_update and as_strided ask before they touch an element, for a call with
/// these numbers; nothing for other ops.
void require_inside(Op op, AttrsId attrs, std::span<const Meta> operands, std::span<const Meta> results,
                    std::span<const Scalar> numbers);

}  // namespace lento

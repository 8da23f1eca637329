// The rules that a gather and its scatter share.
#pragma once

#include "ir/infer_common.h"

namespace lento {

/// Checks the indices of take_along_axis and scatter_axis: integers, as many axes as `x`, none longer than in `x`
/// beside `axis`. Returns the axis counted from the front.
std::int64_t require_indices_along(const Meta& x, const Meta& indices, std::int64_t axis);

/// The shape of `x[indices[0], indices[1], …]`. Throws when there are more indices than axes, when they are no
/// integers, do not broadcast together, or select from an empty axis.
Shape indexed_shape(const Meta& x, std::span<const Meta> indices);

}  // namespace lento

// Integer tensors as positions: checked, and counted from the front. Gathers and scatters resolve all their indices
// before they touch an element, so that nothing is read outside and a failed update has changed nothing.
#pragma once

#include "backends/reference/array.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lento::reference {

/// The indices in row-major order as positions along an axis of this length. Negative ones count from the end. One that
/// is out of range is told (bad_values.h); `which` of the op's operands of indices they are decides the word.
std::vector<std::int64_t> resolved_indices(const Array& indices, std::int64_t axis, std::int64_t extent,
                                           std::size_t which = 0);

/// The offset in `x` of the element that each index of take_along_axis or scatter_axis selects.
std::vector<std::int64_t> offsets_along_axis(const Array& x, const Array& indices, std::int64_t axis);

/// The offset in `x` of the first element of each row `x[indices[0], indices[1], …]`, in row-major order of the indices
/// broadcast together to `common`. A row is what is left of `x` behind the indexed axes.
std::vector<std::int64_t> offsets_of_rows(const Array& x, std::span<const Array> indices,
                                          std::span<const std::int64_t> common);

}  // namespace lento::reference

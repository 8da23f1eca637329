// The arguments of convolutions, poolings and their like: one value for all spatial axes or one for each, and inputs
// with or without a batch axis.
#pragma once

#include <lento/tensor.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lento::composite {

/// `count` values from an argument that gives one for all axes or one for each. `what` names it in the ShapeError.
Ints spatial(const Ints& values, std::size_t count, std::string_view what);
/// Throws ValueError when one of the values is below `least`, or so large that its product with a length overflows.
void check_at_least(const Ints& values, std::int64_t least, std::string_view what);

/// An input that has a batch axis.
struct Batched {
  Tensor x;
  bool added;
};
/// Puts an axis of length 1 before an unbatched input (channels and `spatial_axes`). Throws ShapeError for other ranks.
Batched add_batch(const Tensor& x, std::size_t spatial_axes);
/// Takes the axis that add_batch added away again.
Tensor drop_batch(const Tensor& x, bool added);

}  // namespace lento::composite

// The geometry that convolutions and pooling windows share, and its checks.
#pragma once

#include "ir/infer_common.h"

#include <cstdint>

namespace lento {

/// How a window slides over the spatial axes of (N, C, *S): one entry per spatial axis in each list.
struct Sliding {
  const Ints& kernel;
  const Ints& stride;
  const Ints& padding_low;
  const Ints& padding_high;
  const Ints& dilation;
};

/// Throws ShapeError unless `x` has at least three axes: a batch, channels and one spatial axis. `what` names the
/// argument.
void require_spatial(const Meta& x, std::string_view what);

/// The axes after the first two.
Ints spatial_extents(const Meta& x);

/// How many positions the window takes along each axis of `spatial`. Throws ValueError when a list has the wrong length
/// or an entry out of range, and ShapeError when the window does not fit.
Ints window_positions(const Ints& spatial, const Sliding& sliding);

}  // namespace lento

// The geometry that convolutions and pooling windows share, and its checks.
#include "ir/infer_sliding.h"

#include "base/fail.h"

namespace lento {

namespace {

// Extents beyond this cannot be multiplied without overflow, and no memory holds them.
constexpr std::int64_t kLargest = std::int64_t{1} << 31;

void require_entries(const Ints& list, std::string_view name, std::size_t count, std::int64_t lowest) {
  if (list.size() != count)
    fail<ValueError>("{} needs one entry for each of {} spatial axes, got {}", name, count, list);
  for (const std::int64_t entry : list) {
    if (entry < lowest) fail<ValueError>("{} must be at least {}, got {}", name, lowest, list);
    if (entry > kLargest) fail<ValueError>("{} must be at most {}, got {}", name, kLargest, list);
  }
}

}  // namespace

void require_spatial(const Meta& x, std::string_view what) {
  if (x.shape.size() < 3) {
    fail<ShapeError>("{} must have a batch axis, a channel axis and spatial axes, got {}", what, type_text(x));
  }
}

Ints spatial_extents(const Meta& x) { return Ints(x.shape.begin() + 2, x.shape.end()); }

Ints window_positions(const Ints& spatial, const Sliding& sliding) {
  const std::size_t count = spatial.size();
  require_entries(spatial, "the input size", count, 0);
  require_entries(sliding.kernel, "the kernel size", count, 1);
  require_entries(sliding.stride, "stride", count, 1);
  require_entries(sliding.padding_low, "padding", count, 0);
  require_entries(sliding.padding_high, "padding", count, 0);
  require_entries(sliding.dilation, "dilation", count, 1);
  Ints positions;
  for (std::size_t axis = 0; axis < count; ++axis) {
    const std::int64_t padded = spatial[axis] + sliding.padding_low[axis] + sliding.padding_high[axis];
    const std::int64_t reach = (sliding.kernel[axis] - 1) * sliding.dilation[axis] + 1;
    if (reach > padded) {
      fail<ShapeError>("a window of {} (with dilation) does not fit into spatial axis {} of size {} (with padding)",
                       reach, axis, padded);
    }
    positions.push_back((padded - reach) / sliding.stride[axis] + 1);
  }
  return positions;
}

}  // namespace lento

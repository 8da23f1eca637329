#include "ops/spatial_arguments.h"

#include "base/fail.h"
#include "ops/composite_helpers.h"

namespace lento::composite {

Ints spatial(const Ints& values, std::size_t count, std::string_view what) {
  if (values.size() == count) return values;
  if (values.size() != 1) fail<ShapeError>("{} has {} values, expected 1 or {}", what, values.size(), count);
  return Ints(count, values[0]);
}

// Larger ones cannot be multiplied by a length without overflow, and no memory holds what they ask for.
constexpr std::int64_t kLargest = std::int64_t{1} << 31;

void check_at_least(const Ints& values, std::int64_t least, std::string_view what) {
  for (const std::int64_t value : values) {
    if (value < least) fail<ValueError>("{} must be at least {}, got {}", what, least, values);
    if (value > kLargest) fail<ValueError>("{} must be at most {}, got {}", what, kLargest, values);
  }
}

Batched add_batch(const Tensor& x, std::size_t spatial_axes) {
  const std::size_t rank = x.shape().size();
  if (rank == spatial_axes + 2) return {x, false};
  if (rank != spatial_axes + 1) {
    fail<ShapeError>("the input must have {} axes, or {} without a batch axis, got shape {}", spatial_axes + 2,
                     spatial_axes + 1, x.shape());
  }
  return {with_axis(x, 0), true};
}

Tensor drop_batch(const Tensor& x, bool added) { return added ? drop_axis(x, 0) : x; }

}  // namespace lento::composite

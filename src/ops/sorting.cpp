// Sorting (ops/sorting.yaml). The primitives are always stable, so that `stable` needs no attention.
#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/sorting.calls.gen.h"

namespace lento::composite {

namespace {

/// What is partitioned, and along which of its axes.
struct Along {
  Tensor x;
  std::int64_t axis;
};

Along partitioned(const Tensor& x, const Ints& kth, std::optional<std::int64_t> axis) {
  const Along result{axis ? x : flat(x), axis ? axis_of(x, *axis) : 0};
  const std::int64_t extent = result.x.shape()[static_cast<std::size_t>(result.axis)];
  for (const std::int64_t k : kth) {
    if (k < -extent || k >= extent) fail<IndexError>("position {} is out of range for an axis of size {}", k, extent);
  }
  return result;
}

}  // namespace

Tensor sort(const Tensor& x, std::int64_t axis, bool descending, bool) {
  return prim::sort_values(x, axis_of(x, axis), descending);
}

Tensor argsort(const Tensor& x, std::int64_t axis, bool descending, bool) {
  return prim::sort_indices(x, axis_of(x, axis), descending);
}

Tensor partition(const Tensor& x, const Ints& kth, std::optional<std::int64_t> axis) {
  const auto [source, at] = partitioned(x, kth, axis);
  return prim::sort_values(source, at, false);
}

Tensor argpartition(const Tensor& x, const Ints& kth, std::optional<std::int64_t> axis) {
  const auto [source, at] = partitioned(x, kth, axis);
  return prim::sort_indices(source, at, false);
}

Tensor lexsort(const std::vector<Tensor>& keys, std::int64_t axis) {
  if (keys.empty()) fail<ValueError>("at least one key is needed");
  for (const Tensor& key : keys) {
    if (key.shape() != keys.front().shape()) fail<ShapeError>("all keys must have one shape, got {}", types_of(keys));
  }
  const std::int64_t at = axis_of(keys.front(), axis);
  // Stable sorts from the least important key to the most important one.
  Tensor order = prim::sort_indices(keys.front(), at, false);
  for (std::size_t i = 1; i < keys.size(); ++i) {
    const Tensor arranged = prim::take_along_axis(keys[i], order, at);
    order = prim::take_along_axis(order, prim::sort_indices(arranged, at, false), at);
  }
  return order;
}

}  // namespace lento::composite

// The rules that a gather and its scatter share.
#include "ir/infer_indices.h"

#include "base/fail.h"

namespace lento {

std::int64_t require_indices_along(const Meta& x, const Meta& indices, std::int64_t axis) {
  require_integer(indices, "indices");
  const std::int64_t along = normalized_axis(axis, x);
  if (indices.shape.size() != x.shape.size()) {
    fail<ShapeError>("indices {} must have as many axes as {}", type_text(indices), type_text(x));
  }
  for (std::size_t a = 0; a < x.shape.size(); ++a) {
    if (static_cast<std::int64_t>(a) == along) continue;
    if (indices.shape[a] > x.shape[a]) {
      fail<ShapeError>("indices {} are longer than {} along axis {}, which is not the indexed axis {}",
                       type_text(indices), type_text(x), a, along);
    }
  }
  if (x.shape[static_cast<std::size_t>(along)] == 0 && element_count(indices.shape) != 0) {
    fail<IndexError>("axis {} of {} is empty: no index is in range", along, type_text(x));
  }
  return along;
}

Shape indexed_shape(const Meta& x, std::span<const Meta> indices) {
  if (indices.empty()) fail<ValueError>("at least one index tensor is needed");
  if (indices.size() > x.shape.size()) {
    fail<IndexError>("{} index tensors for {}, which has {} axes", indices.size(), type_text(x), x.shape.size());
  }
  for (const Meta& index : indices) require_integer(index, "indices");
  Shape shape = broadcast_all(indices);
  if (element_count(shape) != 0) {
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      if (x.shape[axis] == 0) fail<IndexError>("axis {} of {} is empty: no index is in range", axis, type_text(x));
    }
  }
  shape.append(x.shape.span().subspan(indices.size()));
  return shape;
}

}  // namespace lento

// Shapes and dtypes of the gathers.
#include "base/fail.h"
#include "ir/attrs_gather.gen.h"
#include "ir/infer_common.h"
#include "ir/infer_gather.gen.h"
#include "ir/infer_indices.h"

#include <utility>

namespace lento {

Meta infer_take_axis(const Meta& x, const Meta& indices, TakeAxisAttrs& attrs) {
  require_integer(indices, "indices");
  attrs.axis = normalized_axis(attrs.axis, x);
  const auto along = static_cast<std::size_t>(attrs.axis);
  if (x.shape[along] == 0 && element_count(indices.shape) != 0) {
    fail<IndexError>("axis {} of {} is empty: there is nothing to take", attrs.axis, type_text(x));
  }
  Meta result{x.dtype, {}};
  result.shape.append(x.shape.span().first(along));
  result.shape.append(indices.shape);
  result.shape.append(x.shape.span().subspan(along + 1));
  return result;
}

Meta infer_take_along_axis(const Meta& x, const Meta& indices, TakeAlongAxisAttrs& attrs) {
  attrs.axis = require_indices_along(x, indices, attrs.axis);
  return {x.dtype, indices.shape};
}

Meta infer_gather_nd(const Meta& x, std::span<const Meta> indices) { return {x.dtype, indexed_shape(x, indices)}; }

}  // namespace lento

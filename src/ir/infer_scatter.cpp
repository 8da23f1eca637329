// Shapes and dtypes of the scatters: those of the tensor that is updated.
#include "base/fail.h"
#include "ir/attrs_scatter.gen.h"
#include "ir/infer_indices.h"
#include "ir/infer_scatter.gen.h"

namespace lento {

namespace {

template <class Mode>
void require_mode(const Meta& x, Mode mode) {
  if (is_complex(x.dtype) && (mode == Mode::minimum || mode == Mode::maximum)) {
    fail<DTypeError>("complex numbers have no order: minimum and maximum cannot be taken of {}", type_text(x));
  }
}

}  // namespace

Meta infer_scatter_axis(const Meta& x, const Meta& indices, const Meta& value, ScatterAxisAttrs& attrs) {
  require_same_dtype(x, "x", value, "value");
  require_mode(x, attrs.mode);
  attrs.axis = require_indices_along(x, indices, attrs.axis);
  if (value.shape != indices.shape) {
    fail<ShapeError>("the value {} must have the shape of the indices {}", type_text(value), indices.shape);
  }
  return x;
}

Meta infer_scatter_nd(const Meta& x, const Meta& value, std::span<const Meta> indices, ScatterNdAttrs& attrs) {
  require_same_dtype(x, "x", value, "value");
  require_mode(x, attrs.mode);
  const Shape selected = indexed_shape(x, indices);
  if (value.shape != selected) {
    fail<ShapeError>("the value {} must have the shape {} that the indices select", type_text(value), selected);
  }
  return x;
}

}  // namespace lento

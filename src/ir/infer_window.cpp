// Shapes and dtypes of the sliding windows.
#include "base/fail.h"
#include "ir/attrs_window.gen.h"
#include "ir/infer_sliding.h"
#include "ir/infer_window.gen.h"

namespace lento {

namespace {

template <class Attrs>
Meta infer_sliding_window(const Meta& x, const Attrs& attrs) {
  require_spatial(x, "x");
  const Sliding sliding{attrs.kernel, attrs.stride, attrs.padding_low, attrs.padding_high, attrs.dilation};
  Shape shape{x.shape[0], x.shape[1]};
  shape.append(window_positions(spatial_extents(x), sliding));
  return {x.dtype, shape};
}

}  // namespace

std::array<Meta, 2> infer_max_window(const Meta& x, MaxWindowAttrs& attrs) {
  const Meta values = infer_sliding_window(x, attrs);
  if (is_complex(x.dtype)) fail<DTypeError>("complex numbers have no order, got {}", type_text(x));
  return {values, Meta{DType::int64, values.shape}};
}

Meta infer_sum_window(const Meta& x, SumWindowAttrs& attrs) { return infer_sliding_window(x, attrs); }

}  // namespace lento

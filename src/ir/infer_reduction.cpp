// Shapes and dtypes of the reductions.
#include "base/fail.h"
#include "ir/attrs_reduction.gen.h"
#include "ir/infer_common.h"
#include "ir/infer_reduction.gen.h"

#include <algorithm>

namespace lento {

namespace {

/// The shape with these axes (sorted, counted from the front) taken out, or made 1.
Shape reduced_shape(const Shape& shape, const Ints& axes, bool keepdims) {
  Shape result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool reduced = std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(axis));
    if (!reduced) {
      result.push_back(shape[axis]);
    } else if (keepdims) {
      result.push_back(1);
    }
  }
  return result;
}

template <class Attrs>
Meta infer_reduction(const Meta& x, Attrs& attrs, DType dtype) {
  attrs.axes = normalized_axes(attrs.axes, x);
  std::sort(attrs.axes.begin(), attrs.axes.end());
  return {dtype, reduced_shape(x.shape, attrs.axes, attrs.keepdims)};
}

/// Refuses the largest or smallest element of none, unless the result is empty too.
void require_elements(const Meta& x, const Ints& axes, const Meta& result, std::string_view what) {
  if (element_count(result.shape) == 0) return;
  for (const std::int64_t axis : axes) {
    if (x.shape[static_cast<std::size_t>(axis)] == 0) {
      fail<ValueError>("axis {} of {} is empty: there is no {} element", axis, type_text(x), what);
    }
  }
}

template <class Attrs>
Meta infer_position(const Meta& x, Attrs& attrs, std::string_view what) {
  attrs.axis = normalized_axis(attrs.axis, x);
  const Ints axes{attrs.axis};
  Meta result{DType::int64, reduced_shape(x.shape, axes, attrs.keepdims)};
  require_elements(x, axes, result, what);
  return result;
}

}  // namespace

Meta infer_reduce_sum(const Meta& x, ReduceSumAttrs& attrs) { return infer_reduction(x, attrs, x.dtype); }
Meta infer_reduce_prod(const Meta& x, ReduceProdAttrs& attrs) { return infer_reduction(x, attrs, x.dtype); }
Meta infer_reduce_any(const Meta& x, ReduceAnyAttrs& attrs) { return infer_reduction(x, attrs, DType::bool_); }
Meta infer_reduce_all(const Meta& x, ReduceAllAttrs& attrs) { return infer_reduction(x, attrs, DType::bool_); }

Meta infer_reduce_max(const Meta& x, ReduceMaxAttrs& attrs) {
  Meta result = infer_reduction(x, attrs, x.dtype);
  require_elements(x, attrs.axes, result, "largest");
  return result;
}

Meta infer_reduce_min(const Meta& x, ReduceMinAttrs& attrs) {
  Meta result = infer_reduction(x, attrs, x.dtype);
  require_elements(x, attrs.axes, result, "smallest");
  return result;
}

Meta infer_arg_max(const Meta& x, ArgMaxAttrs& attrs) { return infer_position(x, attrs, "largest"); }
Meta infer_arg_min(const Meta& x, ArgMinAttrs& attrs) { return infer_position(x, attrs, "smallest"); }

}  // namespace lento

// Shapes and dtypes of sorting and searching.
#include "base/fail.h"
#include "ir/attrs_sort.gen.h"
#include "ir/infer_common.h"
#include "ir/infer_sort.gen.h"

#include <array>

namespace lento {

Meta infer_sort_values(const Meta& x, SortValuesAttrs& attrs) {
  attrs.axis = normalized_axis(attrs.axis, x);
  return x;
}

Meta infer_sort_indices(const Meta& x, SortIndicesAttrs& attrs) {
  attrs.axis = normalized_axis(attrs.axis, x);
  return {DType::int64, x.shape};
}

std::array<Meta, 2> infer_top_k(const Meta& x, TopKAttrs& attrs) {
  attrs.axis = normalized_axis(attrs.axis, x);
  Shape shape = x.shape;
  std::int64_t& extent = shape[static_cast<std::size_t>(attrs.axis)];
  if (attrs.k < 0 || attrs.k > extent) {
    fail<ValueError>("k is {}, it must be from 0 to the length {} of axis {} of {}", attrs.k, extent, attrs.axis,
                     type_text(x));
  }
  extent = attrs.k;
  return {Meta{x.dtype, shape}, Meta{DType::int64, shape}};
}

Meta infer_search_sorted(const Meta& sorted, const Meta& values, SearchSortedAttrs&) {
  if (sorted.shape.size() != 1) fail<ShapeError>("the sorted tensor must have one axis, got {}", type_text(sorted));
  require_same_dtype(sorted, "sorted", values, "values");
  return {DType::int64, values.shape};
}

Meta infer_flat_nonzero(const Meta& x, FlatNonzeroAttrs& attrs) {
  if (attrs.size < 0 || attrs.size > element_count(x.shape)) {
    fail<ValueError>("the number of elements {} must be from 0 to the {} of {}", attrs.size, element_count(x.shape),
                     type_text(x));
  }
  return {DType::int64, Shape{attrs.size}};
}

}  // namespace lento

// Shapes and dtypes of the creation primitives.
#include "base/fail.h"
#include "ir/attrs_creation.gen.h"
#include "ir/infer_common.h"
#include "ir/infer_creation.gen.h"

namespace lento {

Meta infer_full(FullAttrs& attrs) {
  require_dtype(attrs.dtype);
  for (const std::int64_t extent : attrs.shape) {
    if (extent < 0) fail<ValueError>("negative length {} in shape {}", extent, attrs.shape);
  }
  return {attrs.dtype, attrs.shape};
}

Meta infer_iota(IotaAttrs& attrs) {
  require_dtype(attrs.dtype);
  if (attrs.size < 0) fail<ValueError>("the number of elements is negative: {}", attrs.size);
  if (is_bool(attrs.dtype)) fail<DTypeError>("a sequence of numbers cannot be bool");
  return {attrs.dtype, Shape{attrs.size}};
}

}  // namespace lento

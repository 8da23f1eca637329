// Shapes and dtypes of the casts.
#include "base/fail.h"
#include "ir/attrs_cast.gen.h"
#include "ir/infer_cast.gen.h"
#include "ir/infer_common.h"

namespace lento {

Meta infer_astype(const Meta& x, AstypeAttrs& attrs) {
  require_dtype(attrs.dtype);
  if (is_complex(x.dtype) && !is_complex(attrs.dtype) && !is_bool(attrs.dtype)) {
    fail<DTypeError>("{} cannot be converted to {}: take its real or imag part", type_text(x), attrs.dtype);
  }
  return {attrs.dtype, x.shape};
}

Meta infer_bitcast(const Meta& x, BitcastAttrs& attrs) {
  require_dtype(attrs.dtype);
  if (size_of(x.dtype) != size_of(attrs.dtype)) {
    fail<DTypeError>("the bits of {} cannot be read as {}: an element has {} bytes, not {}", type_text(x), attrs.dtype,
                     size_of(x.dtype), size_of(attrs.dtype));
  }
  return {attrs.dtype, x.shape};
}

}  // namespace lento

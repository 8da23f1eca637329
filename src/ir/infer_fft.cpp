// Shapes and dtypes of the Fourier transforms.
#include "base/fail.h"
#include "ir/attrs_fft.gen.h"
#include "ir/infer_common.h"
#include "ir/infer_fft.gen.h"

namespace lento {

namespace {

void require_complex(const Meta& x) {
  if (!is_complex(x.dtype)) fail<DTypeError>("x must be complex, got {}", type_text(x));
}

/// Throws when there is nothing to transform: a transform of length 0 has no definition.
void require_length(const Meta& x, std::int64_t length) {
  if (length < 1) fail<ValueError>("the transform of {} has length {}; it must be at least 1", type_text(x), length);
}

}  // namespace

Meta infer_fft_c2c(const Meta& x, FftC2cAttrs& attrs) {
  require_complex(x);
  attrs.axis = normalized_axis(attrs.axis, x);
  require_length(x, x.shape[static_cast<std::size_t>(attrs.axis)]);
  return x;
}

Meta infer_fft_r2c(const Meta& x, FftR2cAttrs& attrs) {
  if (!is_floating(x.dtype)) fail<DTypeError>("x must be floating, got {}", type_text(x));
  attrs.axis = normalized_axis(attrs.axis, x);
  Meta result{complex_type(x.dtype), x.shape};
  std::int64_t& length = result.shape[static_cast<std::size_t>(attrs.axis)];
  require_length(x, length);
  length = length / 2 + 1;
  return result;
}

Meta infer_fft_c2r(const Meta& x, FftC2rAttrs& attrs) {
  require_complex(x);
  attrs.axis = normalized_axis(attrs.axis, x);
  require_length(x, attrs.size);
  Meta result{real_type(x.dtype), x.shape};
  std::int64_t& length = result.shape[static_cast<std::size_t>(attrs.axis)];
  if (length != attrs.size / 2 + 1) {
    fail<ShapeError>("a real transform of length {} needs {} elements along axis {}, got {}", attrs.size,
                     attrs.size / 2 + 1, attrs.axis, type_text(x));
  }
  length = attrs.size;
  return result;
}

}  // namespace lento

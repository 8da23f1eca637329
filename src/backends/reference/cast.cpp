// Conversions between dtypes.
#include "backends/reference/array.h"
#include "backends/reference/convert.h"
#include "base/dispatch.h"
#include "ir/attrs_cast.gen.h"
#include "reference/kernels_cast.gen.h"

#include <cstring>

namespace lento::reference {

void astype(const Array& out, const Array& x, const AstypeAttrs&) {
  const std::int64_t count = x.size();
  dispatch(x.dtype(), [&]<class From>() {
    dispatch(out.dtype(), [&]<class To>() {
      for (std::int64_t i = 0; i < count; ++i) out.as<To>()[i] = convert<To>(x.as<From>()[i]);
    });
  });
}

void bitcast(const Array& out, const Array& x, const BitcastAttrs&) {
  const std::int64_t count = x.size();
  if (count == 0) return;
  if (out.dtype() == DType::bool_) {
    // A bool holds 0 or 1 and nothing else.
    const auto* bytes = static_cast<const unsigned char*>(x.data());
    for (std::int64_t i = 0; i < count; ++i) out.as<bool>()[i] = bytes[i] != 0;
  } else {
    std::memcpy(out.data(), x.data(), static_cast<std::size_t>(count) * size_of(x.dtype()));
  }
}

}  // namespace lento::reference

// Tensors made from nothing.
#include "backends/reference/array.h"
#include "backends/reference/convert.h"
#include "backends/reference/created.h"
#include "base/dispatch.h"
#include "ir/attrs_creation.gen.h"
#include "reference/kernels_creation.gen.h"

#include <algorithm>

namespace lento::reference {

void full(const Array& out, const Scalar& fill_value, const FullAttrs&) {
  dispatch(out.dtype(), [&]<class T>() { std::fill_n(out.as<T>(), out.size(), convert_number<T>(fill_value)); });
}

void iota(const Array& out, const Scalar& start, const Scalar& step, const IotaAttrs&) {
  dispatch(out.dtype(), [&]<class T>() {
    T* elements = out.as<T>();
    for (std::int64_t i = 0; i < out.size(); ++i) elements[i] = iota_element<T>(i, start, step);
  });
}

}  // namespace lento::reference

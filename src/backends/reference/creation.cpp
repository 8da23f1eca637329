// Tensors made from nothing.
#include "backends/reference/array.h"
#include "backends/reference/convert.h"
#include "base/dispatch.h"
#include "ir/attrs_creation.gen.h"
#include "reference/kernels_creation.gen.h"

#include <algorithm>
#include <complex>

namespace lento::reference {

void full(const Array& out, const Scalar& fill_value, const FullAttrs&) {
  dispatch(out.dtype(), [&]<class T>() { std::fill_n(out.as<T>(), out.size(), convert_number<T>(fill_value)); });
}

void iota(const Array& out, const Scalar& start, const Scalar& step, const IotaAttrs&) {
  const bool integers = !start.is_floating() && !start.is_complex() && !step.is_floating() && !step.is_complex();
  dispatch(out.dtype(), [&]<class T>() {
    T* elements = out.as<T>();
    for (std::int64_t i = 0; i < out.size(); ++i) {
      if (std::integral<T> && integers) {
        const auto k = static_cast<std::uint64_t>(i);
        elements[i] = convert<T>(start.to<std::uint64_t>() + k * step.to<std::uint64_t>());
      } else if (Complex<T>) {
        elements[i] =
            convert<T>(start.to<std::complex<double>>() + static_cast<double>(i) * step.to<std::complex<double>>());
      } else {
        elements[i] = convert<T>(start.to<double>() + static_cast<double>(i) * step.to<double>());
      }
    }
  });
}

}  // namespace lento::reference

// From a runtime dtype to a C++ type: dispatch(d, [&]<class T>() { ... }).
#pragma once

#include <lento/dtype.h>

#include <utility>

namespace lento {

/// Calls f.operator()<T>() with the C++ type of `dtype`.
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::bool_:
      return std::forward<F>(f).template operator()<bool>();
    case DType::int8:
      return std::forward<F>(f).template operator()<std::int8_t>();
    case DType::int16:
      return std::forward<F>(f).template operator()<std::int16_t>();
    case DType::int32:
      return std::forward<F>(f).template operator()<std::int32_t>();
    case DType::int64:
      return std::forward<F>(f).template operator()<std::int64_t>();
    case DType::uint8:
      return std::forward<F>(f).template operator()<std::uint8_t>();
    case DType::uint16:
      return std::forward<F>(f).template operator()<std::uint16_t>();
    case DType::uint32:
      return std::forward<F>(f).template operator()<std::uint32_t>();
    case DType::uint64:
      return std::forward<F>(f).template operator()<std::uint64_t>();
    case DType::float16:
      return std::forward<F>(f).template operator()<float16>();
    case DType::bfloat16:
      return std::forward<F>(f).template operator()<bfloat16>();
    case DType::float32:
      return std::forward<F>(f).template operator()<float>();
    case DType::float64:
      return std::forward<F>(f).template operator()<double>();
    case DType::complex64:
      return std::forward<F>(f).template operator()<std::complex<float>>();
    case DType::complex128:
      return std::forward<F>(f).template operator()<std::complex<double>>();
  }
  __builtin_unreachable();
}

}  // namespace lento

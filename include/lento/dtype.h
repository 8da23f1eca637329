// Element types: the closed set of dtypes Lento computes with, their properties and promotion.
#pragma once

#include <lento/export.h>
#include <lento/half.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lento {

enum class DType : std::uint8_t {
  bool_,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128,
};

inline constexpr int kDTypeCount = 15;
inline constexpr DType kDefaultFloat = DType::float32;
inline constexpr DType kDefaultInt = DType::int64;
inline constexpr DType kDefaultComplex = DType::complex64;

/// The public name: "bool", "int8", …, "complex128".
LENTO_API std::string_view name(DType dtype);
/// The dtype with this public name, or nothing.
LENTO_API std::optional<DType> dtype_from_name(std::string_view name);

constexpr bool is_bool(DType d) { return d == DType::bool_; }
constexpr bool is_signed_integer(DType d) { return d >= DType::int8 && d <= DType::int64; }
constexpr bool is_unsigned_integer(DType d) { return d >= DType::uint8 && d <= DType::uint64; }
constexpr bool is_integer(DType d) { return d >= DType::int8 && d <= DType::uint64; }
constexpr bool is_half(DType d) { return d == DType::float16 || d == DType::bfloat16; }
constexpr bool is_floating(DType d) { return d >= DType::float16 && d <= DType::float64; }
constexpr bool is_complex(DType d) { return d >= DType::complex64; }

/// Bytes of one element.
constexpr std::size_t size_of(DType d) {
  constexpr std::uint8_t kSizes[kDTypeCount] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
  return kSizes[static_cast<int>(d)];
}

/// The type both operands are converted to (clause T3). Never fails: kinds that the Array API leaves open are
/// resolved as integer + float → that float, float + complex → the complex that holds both, uint64 + signed → float64.
LENTO_API DType promote(DType a, DType b);

/// The real type of a complex one; any other type is returned as it is.
constexpr DType real_type(DType d) {
  return d == DType::complex64 ? DType::float32 : d == DType::complex128 ? DType::float64 : d;
}
/// The complex type whose parts hold this real one: float64 → complex128, everything smaller → complex64.
constexpr DType complex_type(DType d) {
  return is_complex(d) ? d : d == DType::float64 ? DType::complex128 : DType::complex64;
}

/// A set of dtypes, as in the catalogue's `in floating|complex`.
using DTypeSet = std::uint32_t;
constexpr DTypeSet dtype_bit(DType d) { return DTypeSet{1} << static_cast<int>(d); }
constexpr bool contains(DTypeSet set, DType d) { return (set & dtype_bit(d)) != 0; }
inline constexpr DTypeSet kBool = dtype_bit(DType::bool_);
inline constexpr DTypeSet kSigned = 0x001e;
inline constexpr DTypeSet kUnsigned = 0x01e0;
inline constexpr DTypeSet kInteger = kSigned | kUnsigned;
inline constexpr DTypeSet kFloating = 0x1e00;
inline constexpr DTypeSet kComplex = 0x6000;
inline constexpr DTypeSet kReal = kInteger | kFloating;
inline constexpr DTypeSet kNumeric = kReal | kComplex;
inline constexpr DTypeSet kAny = kBool | kNumeric;

/// Maps a C++ element type to its DType: dtype_of<float>() == DType::float32.
template <class T>
constexpr DType dtype_of();

#define LENTO_DTYPE_OF(T, d)      \
  template <>                     \
  constexpr DType dtype_of<T>() { \
    return DType::d;              \
  }
LENTO_DTYPE_OF(bool, bool_)
LENTO_DTYPE_OF(std::int8_t, int8)
LENTO_DTYPE_OF(std::int16_t, int16)
LENTO_DTYPE_OF(std::int32_t, int32)
LENTO_DTYPE_OF(std::int64_t, int64)
LENTO_DTYPE_OF(std::uint8_t, uint8)
LENTO_DTYPE_OF(std::uint16_t, uint16)
LENTO_DTYPE_OF(std::uint32_t, uint32)
LENTO_DTYPE_OF(std::uint64_t, uint64)
LENTO_DTYPE_OF(float16, float16)
LENTO_DTYPE_OF(bfloat16, bfloat16)
LENTO_DTYPE_OF(float, float32)
LENTO_DTYPE_OF(double, float64)
LENTO_DTYPE_OF(std::complex<float>, complex64)
LENTO_DTYPE_OF(std::complex<double>, complex128)
#undef LENTO_DTYPE_OF

}  // namespace lento

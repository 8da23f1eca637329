// Element types: the closed set of dtypes Lento computes with, their properties and promotion.
#pragma once

#include <lento/export.h>
#include <lento/half.h>

#include <bit>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>
#include <type_traits>

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
LENTO_API std::ostream& operator<<(std::ostream& out, DType dtype);
/// The dtype with this public name, or nothing.
LENTO_API std::optional<DType> dtype_from_name(std::string_view name);

constexpr bool is_bool(DType d) { return d == DType::bool_; }
constexpr bool is_signed_integer(DType d) { return d >= DType::int8 && d <= DType::int64; }
constexpr bool is_unsigned_integer(DType d) { return d >= DType::uint8 && d <= DType::uint64; }
constexpr bool is_integer(DType d) { return d >= DType::int8 && d <= DType::uint64; }
constexpr bool is_half(DType d) { return d == DType::float16 || d == DType::bfloat16; }
constexpr bool is_floating(DType d) { return d >= DType::float16 && d <= DType::float64; }
constexpr bool is_complex(DType d) { return d >= DType::complex64; }
/// Floating or complex: what has a derivative.
constexpr bool is_inexact(DType d) { return d >= DType::float16; }

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

/// bool and the integers of every name: long and long long are the same elements. Characters are no numbers, and
/// 128-bit integers fit nowhere.
template <class T>
concept IntegerType = std::integral<T> && sizeof(T) <= 8 && !std::same_as<std::remove_cv_t<T>, char> &&
                      !std::same_as<std::remove_cv_t<T>, wchar_t> && !std::same_as<std::remove_cv_t<T>, char8_t> &&
                      !std::same_as<std::remove_cv_t<T>, char16_t> && !std::same_as<std::remove_cv_t<T>, char32_t>;

/// What a number may be given as and read as. A long double counts as a double.
template <class T>
concept Number =
    IntegerType<T> || std::same_as<std::remove_cv_t<T>, float> || std::same_as<std::remove_cv_t<T>, double> ||
    std::same_as<std::remove_cv_t<T>, long double> || std::same_as<T, std::complex<float>> ||
    std::same_as<T, std::complex<double>> || std::same_as<T, float16> || std::same_as<T, bfloat16>;

/// What the elements of a tensor may be in memory.
template <class T>
concept Element = Number<T> && !std::same_as<std::remove_cv_t<T>, long double>;

/// Maps a C++ element type to its DType: dtype_of<float>() == DType::float32.
template <Element T>
constexpr DType dtype_of() {
  using Plain = std::remove_cv_t<T>;
  if constexpr (std::same_as<Plain, bool>) {
    return DType::bool_;
  } else if constexpr (std::integral<Plain>) {
    constexpr int kFirst = static_cast<int>(std::signed_integral<Plain> ? DType::int8 : DType::uint8);
    return static_cast<DType>(kFirst + std::countr_zero(sizeof(Plain)));
  } else if constexpr (std::same_as<Plain, float16>) {
    return DType::float16;
  } else if constexpr (std::same_as<Plain, bfloat16>) {
    return DType::bfloat16;
  } else if constexpr (std::floating_point<Plain>) {
    return std::same_as<Plain, float> ? DType::float32 : DType::float64;
  } else {
    return std::same_as<Plain, std::complex<float>> ? DType::complex64 : DType::complex128;
  }
}

}  // namespace lento

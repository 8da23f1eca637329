// The conversion of one element from any type to any other: what astype means, the same on every backend.
#pragma once

#include "backends/reference/arithmetic.h"

#include <lento/scalar.h>

#include <cmath>
#include <concepts>
#include <cstdint>

namespace lento::reference {

/// The integer as a double that later rounds to 16 bits as the integer itself would: where 53 bits are not enough, what
/// is lost is remembered in the last bit kept ("round to odd").
template <std::integral I>
double sticky_double(I value) {
  if constexpr (sizeof(I) < 8) {
    return value;  // exact
  } else {
    const bool negative = value < 0;
    const auto bits = static_cast<std::uint64_t>(value);
    const std::uint64_t magnitude = negative ? 0 - bits : bits;
    double result = static_cast<double>(magnitude);
    if (magnitude >> 53 != 0) {
      constexpr int kExtra = 64 - 53;
      const std::uint64_t lost = magnitude % (std::uint64_t{1} << kExtra);
      result = std::ldexp(static_cast<double>((magnitude >> kExtra) | (lost != 0 ? 1 : 0)), kExtra);
    }
    return negative ? -result : result;
  }
}

/// `value` as a To.
///   to bool           whether it differs from zero; nan does
///   integer → integer modulo two to the width
///   float → integer   towards zero; nan gives 0, what is out of range gives the nearest end of the range
///   to a float        rounded once, to nearest, ties to even; what is too large becomes infinite
///   real → complex    with imaginary part +0
///   complex → real    the real part (inference refuses it; numbers given by the user may get here)
template <class To, class From>
To convert(From value) {
  if constexpr (std::same_as<To, From>) {
    return value;
  } else if constexpr (std::same_as<To, bool>) {
    return is_nonzero(value);
  } else if constexpr (Half<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (Complex<From> && Complex<To>) {
    return To(convert<typename To::value_type>(value.real()), convert<typename To::value_type>(value.imag()));
  } else if constexpr (Complex<From>) {
    return convert<To>(value.real());
  } else if constexpr (Complex<To>) {
    return To(convert<typename To::value_type>(value), 0);
  } else if constexpr (std::integral<To> && std::floating_point<From>) {
    return saturating_cast<To>(value);
  } else if constexpr (Half<To> && std::integral<From>) {
    return To(sticky_double(value));
  } else {
    return static_cast<To>(value);
  }
}

/// A number given by the user as a T, converted as an element would be.
template <class T>
T convert_number(const Scalar& number) {
  switch (number.kind()) {
    case Scalar::Kind::bool_:
      return convert<T>(number.to<bool>());
    case Scalar::Kind::int_:
      return convert<T>(number.to<std::int64_t>());
    case Scalar::Kind::uint_:
      return convert<T>(number.to<std::uint64_t>());
    case Scalar::Kind::float_:
      return convert<T>(number.to<double>());
    case Scalar::Kind::complex_:
      return convert<T>(number.to<std::complex<double>>());
  }
  __builtin_unreachable();
}

}  // namespace lento::reference

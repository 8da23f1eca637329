// The scalar functions that the catalogue's `compute` expressions call as math::name(x), and reference kernels too: the
// one place where integer overflow, division by zero, shifts out of range, signed zeros and nan get their defined
// meaning.
//
// Compute types: bool, the integers, float (for float16, bfloat16 and float32), double and std::complex of both. Where
// nothing else is said, a float function is std::'s float version. These compute wider and round once, which is both
// simpler and more exact: rsqrt and the complex functions with float parts in double; the special functions of
// scalar_special.h in long double.
//
//   scalar_math.h      integers and reals (this file)
//   scalar_complex.h   complex numbers
//   scalar_special.h   erfinv, lgamma, digamma, zeta and Bessel functions
#pragma once

#include <lento/half.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <numbers>

namespace lento::reference::math {

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept SignedInteger = Integer<T> && std::signed_integral<T>;
template <class T>
concept Floating = std::floating_point<T>;

// ---- Integers: modulo 2^bits. Going through uint64_t avoids both signed overflow and the promotion of uint16_t to
// int.

template <Integer T>
constexpr T wrapping_add(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

template <Integer T>
constexpr T wrapping_subtract(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

template <Integer T>
constexpr T wrapping_multiply(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

template <Integer T>
constexpr T wrapping_negative(T a) {
  return wrapping_subtract(T{0}, a);
}

/// True for -1 of a signed type: the divisor whose quotient may not fit, and whose remainder is always 0.
template <Integer T>
constexpr bool is_minus_one(T b) {
  return std::signed_integral<T> && b == static_cast<T>(-1);
}

/// Rounded down. Division by zero gives 0; lowest / -1 wraps to lowest.
template <Integer T>
constexpr T floor_divide(T a, T b) {
  if (b == 0) return 0;
  if (is_minus_one(b)) return wrapping_negative(a);
  const T quotient = static_cast<T>(a / b);
  const bool inexact_and_negative = a % b != 0 && (a < 0) != (b < 0);
  return inexact_and_negative ? static_cast<T>(quotient - 1) : quotient;
}

/// With the sign of the divisor; 0 when dividing by zero.
template <Integer T>
constexpr T remainder(T a, T b) {
  if (b == 0 || is_minus_one(b)) return 0;
  const T rest = static_cast<T>(a % b);
  return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
}

/// With the sign of the dividend; 0 when dividing by zero.
template <Integer T>
constexpr T fmod(T a, T b) {
  if (b == 0 || is_minus_one(b)) return 0;
  return static_cast<T>(a % b);
}

/// A negative exponent gives the truncated power: nonzero only for the bases 1 and -1.
template <Integer T>
constexpr T pow(T base, T exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (!is_minus_one(base)) return 0;
    return exponent % 2 == 0 ? T{1} : base;
  }
  T result = 1;
  for (; exponent != 0; exponent = static_cast<T>(exponent / 2)) {
    if (exponent % 2 != 0) result = wrapping_multiply(result, base);
    base = wrapping_multiply(base, base);
  }
  return result;
}

template <Integer T>
constexpr bool is_shift(T places) {
  return places >= 0 && static_cast<std::uint64_t>(places) < sizeof(T) * 8;
}

/// 0 when `places` is negative or not below the width.
template <Integer T>
constexpr T left_shift(T a, T places) {
  return is_shift(places) ? static_cast<T>(static_cast<std::uint64_t>(a) << places) : T{0};
}

/// Sign-extending; 0, or -1 for a negative `a`, when `places` is negative or not below the width.
template <Integer T>
constexpr T right_shift(T a, T places) {
  if (is_shift(places)) return static_cast<T>(a >> places);
  return a < 0 ? static_cast<T>(-1) : T{0};
}

template <Integer T>
constexpr T abs(T a) {
  return a < 0 ? wrapping_negative(a) : a;
}

template <Integer T>
constexpr T sign(T a) {
  return static_cast<T>((a > 0) - (a < 0));
}

// ---- Reals.

template <Floating T>
T divide(T a, T b) {
  return a / b;
}

/// The Array API's special cases: an infinite operand or a zero divisor gives a / b itself, so a positive number //
/// -inf is -0.
template <Floating T>
T floor_divide(T a, T b) {
  if (b == 0 || std::isinf(a) || std::isinf(b)) return a / b;
  const T rest = std::fmod(a, b);
  T quotient = (a - rest) / b;  // whole except for rounding
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(T{0}, a / b);
  const T whole = std::floor(quotient);
  return quotient - whole > T{0.5} ? whole + 1 : whole;
}

template <Floating T>
T remainder(T a, T b) {
  const T rest = std::fmod(a, b);  // nan for b == 0 and for infinite a; a for infinite b
  if (rest == 0) return std::copysign(T{0}, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

template <Floating T>
T fmod(T a, T b) {
  return std::fmod(a, b);
}

template <Floating T>
T pow(T a, T b) {
  return std::pow(a, b);
}

template <Floating T>
T abs(T a) {
  return std::fabs(a);
}

/// nan for nan, +0 for both zeros.
template <Floating T>
T sign(T a) {
  return std::isnan(a) ? a : static_cast<T>((a > 0) - (a < 0));
}

/// In the rounding mode that is never changed: to nearest, ties to even.
template <Floating T>
T round_half_even(T a) {
  return std::nearbyint(a);
}

template <Floating T>
T rsqrt(T a) {
  return static_cast<T>(1 / std::sqrt(static_cast<double>(a)));
}

template <Floating T>
T expm1(T a) {
  return std::expm1(a);
}

template <Floating T>
T log1p(T a) {
  return std::log1p(a);
}

template <Floating T>
T log2(T a) {
  return std::log2(a);
}

template <Floating T>
T log10(T a) {
  return std::log10(a);
}

/// exp is only taken of what is not positive, so nothing overflows.
template <Floating T>
T sigmoid(T a) {
  if (a >= 0) return 1 / (1 + std::exp(-a));
  const T e = std::exp(a);
  return e / (1 + e);
}

template <Floating T>
T logaddexp(T a, T b) {
  if (a == b) return a + std::numbers::ln2_v<T>;  // also for equal infinities, whose difference is nan
  const T difference = a - b;
  if (std::isnan(difference)) return difference;
  return difference > 0 ? a + std::log1p(std::exp(-difference)) : b + std::log1p(std::exp(difference));
}

/// The neighbour of `from` in direction of `to` in a 16-bit format; both are exact in it.
template <class Half>
float next_half(float from, float to) {
  if (std::isnan(from) || std::isnan(to)) return std::numeric_limits<float>::quiet_NaN();
  if (from == to) return to;
  if (from == 0) return std::copysign(static_cast<float>(Half::from_bits(1)), to);
  // The bits without the sign count the magnitudes in order.
  const bool away_from_zero = (from < to) == (from > 0);
  const std::uint16_t bits = Half(from).bits;
  return static_cast<float>(Half::from_bits(static_cast<std::uint16_t>(away_from_zero ? bits + 1 : bits - 1)));
}

inline float nextafter_float16(float from, float to) { return next_half<float16>(from, to); }
inline float nextafter_bfloat16(float from, float to) { return next_half<bfloat16>(from, to); }

// ---- Every real type.

template <class T>
  requires std::is_arithmetic_v<T>
constexpr bool is_zero(T a) {
  return a == T{0};
}

template <class T>
  requires std::is_arithmetic_v<T>
bool is_nan(T a) {
  if constexpr (Floating<T>) return std::isnan(a);
  return false;
}

template <class T>
  requires std::is_arithmetic_v<T>
bool is_inf(T a) {
  if constexpr (Floating<T>) return std::isinf(a);
  return false;
}

template <class T>
  requires std::is_arithmetic_v<T>
bool is_finite(T a) {
  if constexpr (Floating<T>) return std::isfinite(a);
  return true;
}

template <class T>
  requires std::is_arithmetic_v<T>
bool sign_bit(T a) {
  if constexpr (Floating<T>) return std::signbit(a);
  if constexpr (SignedInteger<T>) return a < 0;
  return false;
}

/// nan when either is nan (the first one); +0 is larger than -0.
template <class T>
  requires std::is_arithmetic_v<T>
T maximum(T a, T b) {
  if constexpr (Floating<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a < b ? b : a;
}

/// nan when either is nan (the first one); -0 is smaller than +0.
template <class T>
  requires std::is_arithmetic_v<T>
T minimum(T a, T b) {
  if constexpr (Floating<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return b < a ? b : a;
}

}  // namespace lento::reference::math

#include "backends/reference/scalar_complex.h"  // IWYU pragma: export
#include "backends/reference/scalar_special.h"  // IWYU pragma: export

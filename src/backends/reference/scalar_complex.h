// Scalar functions of complex numbers: see scalar_math.h, which includes this. What is not here (exp, log, sqrt,
// most trigonometric and hyperbolic functions) is std::'s, that is C99's with the special values of its Annex G.
#pragma once

#include <cmath>
#include <complex>
#include <concepts>
#include <limits>
#include <numbers>

namespace lento::reference::math {

template <std::floating_point T>
std::complex<T> make_complex(T real, T imag) {
  return {real, imag};
}

template <std::floating_point T>
bool is_zero(std::complex<T> a) {
  return a.real() == 0 && a.imag() == 0;
}

template <std::floating_point T>
bool is_nan(std::complex<T> a) {
  return std::isnan(a.real()) || std::isnan(a.imag());
}

template <std::floating_point T>
bool is_inf(std::complex<T> a) {
  return std::isinf(a.real()) || std::isinf(a.imag());
}

template <std::floating_point T>
bool is_finite(std::complex<T> a) {
  return std::isfinite(a.real()) && std::isfinite(a.imag());
}

/// The plain formula. std's operator* would look for infinities again where a part is nan.
template <std::floating_point T>
std::complex<T> multiply(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Smith's method: dividing by the larger part of b first avoids overflow and underflow of |b|^2.
template <std::floating_point T>
std::complex<T> divide(std::complex<T> a, std::complex<T> b) {
  if (is_zero(b)) return {a.real() / std::fabs(b.real()), a.imag() / std::fabs(b.real())};
  if (std::fabs(b.real()) >= std::fabs(b.imag())) {
    const T ratio = b.imag() / b.real();
    const T denominator = b.real() + b.imag() * ratio;
    return {(a.real() + a.imag() * ratio) / denominator, (a.imag() - a.real() * ratio) / denominator};
  }
  const T ratio = b.real() / b.imag();
  const T denominator = b.real() * ratio + b.imag();
  return {(a.real() * ratio + a.imag()) / denominator, (a.imag() * ratio - a.real()) / denominator};
}

template <std::floating_point T>
T abs(std::complex<T> a) {
  return std::hypot(a.real(), a.imag());
}

/// a / |a|. An infinite part leaves the direction of its axis; two of them leave none.
template <std::floating_point T>
std::complex<T> sign(std::complex<T> a) {
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  if (is_nan(a) || (std::isinf(a.real()) && std::isinf(a.imag()))) return {nan, nan};
  if (std::isinf(a.real())) return {std::copysign(T{1}, a.real()), 0};
  if (std::isinf(a.imag())) return {0, std::copysign(T{1}, a.imag())};
  if (is_zero(a)) return {0, 0};
  // In long double |a| neither overflows nor is subnormal.
  const long double length = std::hypot(static_cast<long double>(a.real()), static_cast<long double>(a.imag()));
  return {static_cast<T>(a.real() / length), static_cast<T>(a.imag() / length)};
}

template <std::floating_point T>
std::complex<T> round_half_even(std::complex<T> a) {
  return {std::nearbyint(a.real()), std::nearbyint(a.imag())};
}

template <std::floating_point T>
std::complex<T> rsqrt(std::complex<T> a) {
  const std::complex<double> root = std::sqrt(std::complex<double>(a));
  return std::complex<T>(divide(std::complex<double>(1), root));
}

/// exp(a) - 1 = (expm1(x) cos y - 2 sin^2(y / 2)) + i exp(x) sin y: nothing cancels near 0.
template <std::floating_point T>
std::complex<T> expm1(std::complex<T> a) {
  const double x = a.real();
  const double y = a.imag();
  if (y == 0) return {static_cast<T>(std::expm1(x) + 0.0), a.imag()};  // 0 also for -0, as the Array API has it
  if (!is_finite(a)) {
    const std::complex<T> e = std::exp(a);
    return {e.real() - 1, e.imag()};
  }
  const double half_sine = std::sin(y / 2);
  return {static_cast<T>(std::expm1(x) * std::cos(y) - 2 * half_sine * half_sine),
          static_cast<T>(std::exp(x) * std::sin(y))};
}

/// std::tanh, but far out (x infinite) the imaginary part is a zero with the sign of y, as the Array API has it; C99
/// gives it the sign of sin(2 y).
template <std::floating_point T>
std::complex<T> tanh(std::complex<T> a) {
  if (std::isinf(a.real()) && std::isfinite(a.imag())) {
    return {std::copysign(T{1}, a.real()), std::copysign(T{0}, a.imag())};
  }
  return std::tanh(a);
}

/// -i tanh(i a).
template <std::floating_point T>
std::complex<T> tan(std::complex<T> a) {
  const std::complex<T> turned = math::tanh(std::complex<T>(-a.imag(), a.real()));
  return {turned.imag(), -turned.real()};
}

/// log |1 + a| + i arg(1 + a). Near 0, |1 + a|^2 - 1 = x (2 + x) + y^2 is computed without the 1.
template <std::floating_point T>
std::complex<T> log1p(std::complex<T> a) {
  const double x = a.real();
  const double y = a.imag();
  if (!is_finite(a) || std::hypot(x, y) > 0.5) return std::complex<T>(std::log(std::complex<double>(1 + x, y)));
  return {static_cast<T>(0.5 * std::log1p(x * (2 + x) + y * y)), static_cast<T>(std::atan2(y, 1 + x))};
}

/// log(a) divided by the logarithm of the base, part by part.
template <std::floating_point T>
std::complex<T> log_to_base(std::complex<T> a, double log_of_base) {
  const std::complex<double> e = std::log(std::complex<double>(a));
  return {static_cast<T>(e.real() / log_of_base), static_cast<T>(e.imag() / log_of_base)};
}

template <std::floating_point T>
std::complex<T> log2(std::complex<T> a) {
  return log_to_base(a, std::numbers::ln2);
}

template <std::floating_point T>
std::complex<T> log10(std::complex<T> a) {
  return log_to_base(a, std::numbers::ln10);
}

/// a to the 0 is 1; 0 to a power with positive real part is 0, to any other nan. Small whole powers multiply
/// repeatedly, so that they are exact where a product is; others are exp(b log a).
template <std::floating_point T>
std::complex<T> pow(std::complex<T> a, std::complex<T> b) {
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  if (is_zero(b)) return {1, 0};
  if (is_zero(a)) return b.real() > 0 ? std::complex<T>(0, 0) : std::complex<T>(nan, nan);
  if (b.imag() == 0 && std::fabs(b.real()) <= 100 && b.real() == std::trunc(b.real())) {
    std::complex<T> result = 1;
    for (int exponent = static_cast<int>(std::fabs(b.real())); exponent != 0; exponent /= 2) {
      if (exponent % 2 != 0) result = multiply(result, a);
      if (exponent > 1) a = multiply(a, a);
    }
    return b.real() < 0 ? divide(std::complex<T>(1), result) : result;
  }
  const std::complex<double> exponent = multiply(std::complex<double>(b), std::log(std::complex<double>(a)));
  return std::complex<T>(std::exp(exponent));
}

}  // namespace lento::reference::math

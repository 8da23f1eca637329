// Special functions of reals: see scalar_math.h, which includes this. Each is a textbook series, evaluated in long
// double (64 bits of fraction or more) and rounded once, so that no tables of fitted coefficients are needed.
#pragma once

#include <math.h>  // lgammal_r: std::lgamma writes the global signgam, which is a race

#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>

namespace lento::reference::math {

namespace wide {

inline constexpr long double kPi = std::numbers::pi_v<long double>;
inline constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
inline constexpr long double kNan = std::numeric_limits<long double>::quiet_NaN();

/// The Bernoulli numbers B2, B4, …, B24.
inline constexpr long double kBernoulli[] = {1 / 6.0L,       -1 / 30.0L,       1 / 42.0L,       -1 / 30.0L,
                                             5 / 66.0L,      -691 / 2730.0L,   7 / 6.0L,        -3617 / 510.0L,
                                             43867 / 798.0L, -174611 / 330.0L, 854513 / 138.0L, -236364091 / 2730.0L};

/// Newton's method (Halley's variant, which triples the digits) on erf(y) = x from a rough start. In the upper half
/// erfc keeps the digits that 1 - erf loses.
inline long double erfinv(long double x) {
  if (!(std::fabs(x) <= 1)) return kNan;
  if (x == 0 || std::fabs(x) == 1) return x == 0 ? x : x * kInfinity;
  const long double target = std::fabs(x);
  long double y = target * std::sqrt(kPi) / 2;
  if (target > 0.1L) {  // Winitzki's approximation, good to 3 digits
    const long double a = 0.147L;
    const long double l = std::log((1 - target) * (1 + target));
    const long double t = 2 / (kPi * a) + l / 2;
    y = std::sqrt(std::sqrt(t * t - l / a) - t);
  }
  for (int step = 0; step < 3; ++step) {
    const long double error = target > 0.5L ? (1 - target) - std::erfc(y) : std::erf(y) - target;
    const long double newton = error * std::sqrt(kPi) / 2 * std::exp(y * y);
    y -= newton / (1 + y * newton);
  }
  return std::copysign(y, x);
}

/// Recurrence psi(x) = psi(x + 1) - 1 / x up to x >= 20, then the asymptotic series; reflection for negative x.
inline long double digamma(long double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  if (x < 0) {
    if (x == std::floor(x)) return kNan;  // also -inf
    const long double fraction = x - std::trunc(x);
    return digamma(1 - x) - kPi / std::tan(kPi * fraction);
  }
  if (std::isinf(x) || std::isnan(x)) return x;
  // Near the root the two parts below cancel; its Taylor series does not. The root is the sum of two numbers.
  const long double d = (x - static_cast<long double>(1.4616321449683622)) - 9.5499954299656977152e-17L;
  if (std::fabs(d) < 1e-3L) {
    constexpr long double kTaylor[] = {0.9676722454476211704L,  -0.4427631689835921061L, 0.2584997609556510106L,
                                       -0.1639427054424065275L, 0.1078240506912623658L,  -0.0721995612564547109L};
    long double sum = 0;
    for (int k = 5; k >= 0; --k) sum = (sum + kTaylor[k]) * d;
    return sum;
  }
  long double result = 0;
  while (x < 20) {
    result -= 1 / x;
    x += 1;
  }
  const long double square = 1 / (x * x);
  long double power = 1;
  result += std::log(x) - 1 / (2 * x);
  for (int k = 1; k <= 8; ++k) {
    power *= square;
    result -= kBernoulli[k - 1] / (2 * k) * power;
  }
  return result;
}

/// Euler-Maclaurin: the first terms one by one until q >= 20, then the integral of the rest and its corrections.
inline long double zeta_of_positive(long double s, long double q) {
  long double sum = 0;
  while (q < 20) {
    sum += std::pow(q, -s);
    q += 1;
  }
  if (std::isinf(q)) return sum;
  const long double term = std::pow(q, -s);
  sum += term * q / (s - 1) + term / 2;
  long double correction = term * s / (2 * q);  // s (s + 1) … (s + 2k - 2) / (2k)! q^(-s - 2k + 1), times B2k
  for (int k = 1; k <= 12; ++k) {
    const long double added = kBernoulli[k - 1] * correction;
    sum += added;
    if (std::fabs(added) <= std::fabs(sum) * 1e-22L) break;
    correction *= (s + 2 * k - 1) * (s + 2 * k) / ((2 * k + 1) * (2 * k + 2) * q * q);
  }
  return sum;
}

inline long double zeta(long double s, long double q) {
  if (std::isnan(s) || std::isnan(q) || s < 1) return kNan;
  if (s == 1) return kInfinity;
  if (q > 0) return std::isinf(s) ? std::pow(q, -s) : zeta_of_positive(s, q);
  if (q == std::floor(q)) return kInfinity;
  if (s != std::floor(s)) return kNan;
  // Below 0 the terms (q + n)^-s with a negative base are a finite piece of the series on the other side.
  const long double above = q - std::floor(q);
  const long double negative_terms = zeta_of_positive(s, 1 - above) - zeta_of_positive(s, 1 - q);
  return zeta_of_positive(s, above) + (std::fmod(s, 2.0L) == 0 ? negative_terms : -negative_terms);
}

/// exp(-|x|) I_order(x) for order 0 or 1. Up to 30 by the power series, whose terms are all positive; beyond by the
/// asymptotic series, whose smallest term there is below 1e-25.
inline long double bessel_i_scaled(int order, long double x) {
  const long double size = std::fabs(x);
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return order == 0 ? 0.0L : std::copysign(0.0L, x);
  long double sum = 0;
  if (size <= 30) {
    long double term = order == 0 ? 1 : size / 2;
    for (int k = 1; term > sum * 1e-22L; ++k) {
      sum += term;
      term *= (size / 2) * (size / 2) / (static_cast<long double>(k) * (k + order));
    }
    sum *= std::exp(-size);
  } else {
    long double term = 1;
    for (int k = 1; k <= 50 && std::fabs(term) > 1e-22L; ++k) {
      sum += term;
      term *= -(4.0L * order - (2.0L * k - 1) * (2 * k - 1)) / (8 * k * size);
    }
    sum /= std::sqrt(2 * kPi * size);
  }
  return order == 0 ? sum : std::copysign(sum, x);
}

/// I_order(x): the scaled one times exp(|x|), which fits a long double wherever the result fits a double.
inline long double bessel_i(int order, long double x) {
  if (std::isinf(x)) return order == 0 ? kInfinity : x;
  return bessel_i_scaled(order, x) * std::exp(std::fabs(x));
}

}  // namespace wide

template <std::floating_point T>
T erfinv(T x) {
  return static_cast<T>(wide::erfinv(x));
}

/// log |gamma(x)|, by libm.
template <std::floating_point T>
T lgamma(T x) {
  int sign = 0;
  return static_cast<T>(::lgammal_r(static_cast<long double>(x), &sign));
}

template <std::floating_point T>
T digamma(T x) {
  return static_cast<T>(wide::digamma(x));
}

template <std::floating_point T>
T zeta(T s, T q) {
  return static_cast<T>(wide::zeta(s, q));
}

template <std::floating_point T>
T i0(T x) {
  return static_cast<T>(wide::bessel_i(0, x));
}

template <std::floating_point T>
T i0e(T x) {
  return static_cast<T>(wide::bessel_i_scaled(0, x));
}

template <std::floating_point T>
T i1(T x) {
  return static_cast<T>(wide::bessel_i(1, x));
}

template <std::floating_point T>
T i1e(T x) {
  return static_cast<T>(wide::bessel_i_scaled(1, x));
}

}  // namespace lento::reference::math

// Special functions (ops/special.yaml) from elementwise primitives.
#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/special.calls.gen.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace lento::composite {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kSqrtHalf = std::numbers::sqrt2 / 2;
constexpr double kInverseSqrtTwoPi = 0.39894228040143267794;

/// factor * log(argument), but 0 where the factor is 0 and the logarithm no finite number, unless the argument is nan.
Tensor times_log(const Tensor& factor, const Tensor& argument, double lowest, Tensor (*logarithm)(const Tensor&)) {
  const Tensor regular = lento::logical_and(greater(argument, lowest), less(argument, kInfinity));
  const Tensor special = lento::logical_and(equal(factor, 0), lento::logical_not(regular));
  const Tensor product = multiply(factor, logarithm(where(special, 1, argument)));
  return where(special, where(isnan(argument), kNan, 0.0), product);
}

/// exp(x * x) * erfc(x). Above the limit erfc loses its bits or underflows, and the asymptotic series
/// 1 / (x sqrt(pi)) * (1 - 1/(2 x^2) + 1*3/(2 x^2)^2 - …) is exact to the last bit.
Tensor scaled_erfc(const Tensor& x) {
  const bool wide = x.dtype() == DType::float64;
  const double limit = wide ? 10.0 : 5.0;
  const int terms = wide ? 14 : 8;
  // Each branch sees only arguments it is good for. Not by minimum and maximum, which halve derivatives at the limit.
  const Tensor large = greater(x, limit);
  const Tensor low = where(large, limit, x);
  const Tensor direct = multiply(exp(multiply(low, low)), erfc(low));
  const Tensor high = where(large, x, limit);
  const Tensor ratio = divide(divide(-0.5, high), high);
  Tensor series = add(multiply(ratio, 2.0 * terms - 1), 1);
  for (int k = terms - 1; k >= 1; --k) series = add(multiply(multiply(series, ratio), 2.0 * k - 1), 1);
  const Tensor asymptotic = divide(multiply(series, std::numbers::inv_sqrtpi), high);
  return where(large, asymptotic, direct);
}

}  // namespace

Tensor sinc(const Tensor& x) {
  const Tensor angle = multiply(widen(x), std::numbers::pi);
  // Near 0 the quotient's derivatives lose their bits: there it is the series 1 - a^2/3! + a^4/5! - …, exact to the
  // last bit up to a = 0.1. The quotient is formed of what is not near 0 alone, so that its derivative is finite too.
  const Tensor near = less(abs(angle), 0.1);
  const Tensor square = multiply(where(near, angle, 0), where(near, angle, 0));
  Tensor series = add(multiply(square, -1.0 / (10 * 11)), 1);
  for (const double step : {8 * 9, 6 * 7, 4 * 5, 2 * 3}) series = add(multiply(multiply(square, series), -1 / step), 1);
  const Tensor far = where(near, 1.0, angle);
  return converted(where(near, series, divide(sin(far), far)), x.dtype());
}

Tensor xlogy(const Tensor& x1, const Tensor& x2) {
  const Tensor argument = widen(x2);
  return converted(times_log(widen(x1), argument, 0, [](const Tensor& x) { return log(x); }), x1.dtype());
}

Tensor xlog1py(const Tensor& x1, const Tensor& x2) {
  const Tensor argument = widen(x2);
  return converted(times_log(widen(x1), argument, -1, [](const Tensor& x) { return log1p(x); }), x1.dtype());
}

Tensor entr(const Tensor& x) {
  const Tensor wide = widen(x);
  const Tensor inside = negative(multiply(wide, log(wide)));
  return converted(where(less(wide, 0), -kInfinity, where(equal(wide, 0), 0.0, inside)), x.dtype());
}

Tensor logit(const Tensor& x, const std::optional<Scalar>& eps) {
  Tensor p = widen(x);
  if (eps) p = minimum(maximum(p, *eps), 1 - eps->to<double>());
  return converted(log(divide(p, subtract(1, p))), x.dtype());
}

Tensor erfcx(const Tensor& x) { return converted(scaled_erfc(widen(x)), x.dtype()); }

Tensor ndtr(const Tensor& x) { return converted(multiply(erfc(multiply(widen(x), -kSqrtHalf)), 0.5), x.dtype()); }

Tensor log_ndtr(const Tensor& x) {
  const Tensor wide = widen(x);
  const Tensor scaled = multiply(wide, kSqrtHalf);
  // Below -1: log(erfcx(-x / sqrt 2) / 2) - x^2 / 2. Each branch sees only arguments it is good for.
  const Tensor small = less(wide, -1);
  const Tensor low = where(small, scaled, -kSqrtHalf);
  const Tensor tail = subtract(log(multiply(scaled_erfc(negative(low)), 0.5)), multiply(low, low));
  const Tensor rest = log1p(multiply(erfc(where(small, -kSqrtHalf, scaled)), -0.5));
  return converted(where(small, tail, rest), x.dtype());
}

Tensor ndtri(const Tensor& x) {
  const Tensor p = widen(x);
  const Tensor upper = greater(p, 0.5);
  const Tensor q = where(upper, subtract(1, p), p);  // the smaller tail: at most 1/2
  // Abramowitz and Stegun 26.2.23: within 4.5e-4 for every q up to 1/2.
  const Tensor t = sqrt(multiply(log(q), -2));
  const Tensor numerator = add(multiply(add(multiply(t, 0.010328), 0.802853), t), 2.515517);
  const Tensor denominator = add(multiply(add(multiply(add(multiply(t, 0.001308), 0.189269), t), 1.432788), t), 1);
  Tensor z = subtract(divide(numerator, denominator), t);
  for (int step = 0; step < 2; ++step) {
    const Tensor error = subtract(multiply(erfc(multiply(z, -kSqrtHalf)), 0.5), q);
    const Tensor density = multiply(exp(multiply(multiply(z, z), -0.5)), kInverseSqrtTwoPi);
    const Tensor newton = divide(error, density);
    z = subtract(z, divide(newton, add(multiply(multiply(z, newton), 0.5), 1)));
  }
  const Tensor bounded = where(equal(q, 0), -kInfinity, z);
  const Tensor inside = where(less(q, 0), kNan, bounded);
  return converted(where(upper, negative(inside), inside), x.dtype());
}

Tensor multigammaln(const Tensor& x, std::int64_t p) {
  constexpr std::int64_t kLargest = 10'000;  // one term is recorded for each
  if (p < 1 || p > kLargest) fail<ValueError>("p must be from 1 to {}, got {}", kLargest, p);
  const Tensor wide = widen(x);
  const double order = static_cast<double>(p);
  Tensor sum = lgamma(wide);
  for (std::int64_t i = 1; i < p; ++i) sum = add(sum, lgamma(subtract(wide, 0.5 * static_cast<double>(i))));
  return converted(add(sum, order * (order - 1) / 4 * std::log(std::numbers::pi)), x.dtype());
}

Tensor polygamma(std::int64_t n, const Tensor& x) {
  if (n < 0) fail<ValueError>("n must not be negative, got {}", n);
  if (n == 0) return digamma(x);
  const Tensor wide = widen(x);
  const double factorial = std::tgamma(static_cast<double>(n) + 1);
  const Tensor sum = zeta(static_cast<double>(n) + 1, wide);
  return converted(multiply(sum, n % 2 == 0 ? -factorial : factorial), x.dtype());
}

Tensor betaln(const Tensor& a, const Tensor& b) {
  const Tensor p = widen(a);
  const Tensor q = widen(b);
  return converted(subtract(add(lgamma(p), lgamma(q)), lgamma(add(p, q))), a.dtype());
}

}  // namespace lento::composite

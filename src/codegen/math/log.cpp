// Logarithms, what is made of them, and powers, on doubles: x = 2^k m with m in [sqrt(1/2), sqrt(2)], and
// log(m) = log((1 + s) / (1 - s)) with s = (m - 1) / (m + 1).
#include "codegen/math/functions.h"
#include "codegen/math/polynomials.h"

#include <limits>

namespace lento::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLow = 0x1.6a09e667f3bcdp-1 - 1;  // sqrt(1/2) - 1
constexpr double kHigh = 0x1.6a09e667f3bcdp0 - 1;  // sqrt(2) - 1
constexpr std::uint64_t kRootHalfBits = 0x3fe6a09e667f3bcdU;
constexpr std::uint64_t kOneBits = 0x3ff0000000000000U;
constexpr std::uint64_t kMantissa = 0x000fffffffffffffU;

/// 2^k (1 + f)
struct Decomposed {
  Real k;
  Pair f;
};

/// Of a positive, finite number. `lo`, when given, is added to f, scaled like it; it must be 0 above 2^1000.
Decomposed decompose(Real value, Accuracy accuracy, const Real* lo = nullptr) {
  Real bias = value.constant(0x1p52 + 1023);
  if (accuracy == Accuracy::full) {
    const Mask subnormal = value < 0x1p-1022;
    value = select(subnormal, value * 0x1p54, value);
    bias = select(subnormal, 0x1p52 + 1023 + 54, bias);
  }
  const Bits shifted = bits_of(value) + (kOneBits - kRootHalfBits);
  const Bits exponent = shifted >> 52;
  const Real k = real_of(exponent | std::uint64_t{0x4330000000000000U}, value) - bias;
  const Real f = real_of((shifted & kMantissa) + kRootHalfBits, value) - 1.0;
  if (lo == nullptr) return {k, {f, f.constant(0)}};
  // The lowest bits of 2046 - exponent are those of the factor 2^-k; at 2^1024 it would not be finite.
  return {k, {f, *lo * real_of((2046 - exponent) << 52, value)}};
}

enum class Terms {
  one,  // a relative error of about 2^-58
  two,  // of about 2^-65, for powers
};

/// log(1 + f), f in [kLow, kHigh].
Pair log_of_sum(Pair f, Accuracy accuracy, Terms terms = Terms::one) {
  if (accuracy == Accuracy::brief) {
    const Real s = (f.hi + f.lo) / (2.0 + f.hi);
    const Real z = s * s;
    return {fma(s * z, polynomial(z, kLogBrief), 2.0 * s), z.constant(0)};
  }
  const Pair denominator = ordered_sum(f.hi.constant(2), f.hi);
  const Real inverse = 1.0 / denominator.hi;
  const Real s = f.hi * inverse;
  const Real s_lo = (fma(-s, denominator.hi, f.hi) + (f.lo - s * (denominator.lo + f.lo))) * inverse;
  const Real z = s * s;
  const Real higher = polynomial(z, std::span(kLog).subspan(1));
  if (terms == Terms::one) {
    const Pair sum = ordered_sum(2.0 * s, s * z * fma(z, higher, kLog[0]));
    return {sum.hi, fma(s_lo, 2.0, sum.lo)};
  }
  const Real z_lo = fma(s, s, -z) + 2.0 * s * s_lo;
  const Pair cube = exact_product(s, z);
  const Real cube_lo = cube.lo + fma(s, z_lo, s_lo * z);
  const Pair cubic = exact_product(cube.hi, s.constant(kLog[0]));
  const Real cubic_lo = cubic.lo + fma(cube_lo, kLog[0], cube.hi * kTwoThirdsRest[0]);
  const Pair sum = ordered_sum(2.0 * s, cubic.hi);
  return {sum.hi, sum.lo + (fma(s_lo, 2.0, cubic_lo) + cube.hi * z * higher)};
}

/// k ln(2) + part
Pair with_exponent(Real k, Pair part, Accuracy accuracy) {
  if (accuracy == Accuracy::brief) return {fma(k, kLn2[0], part.hi), part.lo};
  const Pair sum = ordered_sum(k * kLn2Short[0], part.hi);
  return ordered_sum(sum.hi, fma(k, kLn2Short[1], sum.lo + part.lo));
}

/// The result of a logarithm whose pole is at 0, put right for x <= 0, infinity and nan.
Real with_special(Real x, Real result) {
  result = select(x < kInfinity, result, x);
  return select(x < 0.0, kNan, select(x == 0.0, -kInfinity, result));
}

/// log(1 + u) for u >= -1 + 2^-53.
Pair log1p_pair(Pair u, Accuracy accuracy) {
  const Pair sum = exact_sum(u.hi.constant(1), u.hi);
  // Far away only u itself matters, and there the scaled rest could overflow.
  const Mask far = u.hi > 0x1p200;
  const Real lo = sum.lo + u.lo;
  Decomposed d = decompose(sum.hi, accuracy, &lo);
  d.f.lo = select(far, 0.0, d.f.lo);
  // Near 0 the sum with 1 would lose what matters.
  const Mask near = (u.hi > kLow) & (u.hi < kHigh);
  d.f = {select(near, u.hi, d.f.hi), select(near, u.lo, d.f.lo)};
  d.k = select(near, 0.0, d.k);
  return with_exponent(d.k, log_of_sum(d.f, accuracy), accuracy);
}

/// log(1 + u), but log(2x) where `large` holds; there u must be positive and no less than 1.
Pair log1p_or_log_of_twice(Pair u, Mask large, Real x, Accuracy accuracy) {
  const Pair sum = exact_sum(u.hi.constant(1), u.hi);
  const Real lo = select(large, 0.0, sum.lo + u.lo);
  Decomposed d = decompose(select(large, x, sum.hi), accuracy, &lo);
  d.f.lo = select(large, 0.0, d.f.lo);
  const Mask near = u.hi < kHigh;
  d.f = {select(near, u.hi, d.f.hi), select(near, u.lo, d.f.lo)};
  d.k = select(near, 0.0, select(large, d.k + 1.0, d.k));
  return with_exponent(d.k, log_of_sum(d.f, accuracy), accuracy);
}

Real sum_of(Pair pair) { return pair.hi + pair.lo; }

/// log(x) times `factor`, exact for powers of two where `log_of_2` is whole.
Real log_to_base(Real x, std::span<const double> factor, std::span<const double> log_of_2, Accuracy accuracy) {
  const Decomposed d = decompose(x, accuracy);
  const Pair part = log_of_sum(d.f, accuracy);
  if (accuracy == Accuracy::brief) {
    return with_special(x, fma(d.k, log_of_2[0], fma(d.k, log_of_2[1], part.hi * factor[0])));
  }
  const Pair product = exact_product(part.hi, x.constant(factor[0]));
  const Real product_lo = product.lo + fma(part.hi, factor[1], part.lo * factor[0]);
  const Pair sum = ordered_sum(d.k * log_of_2[0], product.hi);
  return with_special(x, sum.hi + (sum.lo + fma(d.k, log_of_2[1], product_lo)));
}

}  // namespace

Real log(Real x, Accuracy accuracy) {
  const Decomposed d = decompose(x, accuracy);
  return with_special(x, sum_of(with_exponent(d.k, log_of_sum(d.f, accuracy), accuracy)));
}

Pair log_pair(Real x) {
  const Decomposed d = decompose(x, Accuracy::brief);
  return with_exponent(d.k, log_of_sum(d.f, Accuracy::full), Accuracy::full);
}

Real log2(Real x, Accuracy accuracy) {
  static constexpr double kWhole[] = {1, 0};
  return log_to_base(x, kInverseLn2, kWhole, accuracy);
}

Real log10(Real x, Accuracy accuracy) { return log_to_base(x, kInverseLn10, kLog10Of2, accuracy); }

Real log1p(Real x, Accuracy accuracy) {
  const Real result = sum_of(log1p_pair({x, x.constant(0)}, accuracy));
  // 1 + x is exact where it is 0 or negative.
  return select(abs(x) < 0x1p-54, x, select(x < kInfinity, with_special(1.0 + x, result), x));
}

Real asinh(Real x, Accuracy accuracy) {
  const Real magnitude = abs(x);
  // Where the square could overflow, sqrt(1 + x^2) is x.
  const Mask large = magnitude > 0x1p30;
  const Real a = select(large, 1.0, magnitude);
  const Real square = a * a;
  const Pair u = ordered_sum(a, square / (1.0 + sqrt(1.0 + square)));
  const Real result = sum_of(log1p_or_log_of_twice(u, large, magnitude, accuracy));
  return copysign(select((magnitude < kInfinity) & !(magnitude < 0x1p-28), result, magnitude), x);
}

Real acosh(Real x, Accuracy accuracy) {
  const Mask large = x > 0x1p30;
  const Real t = select(large, 1.0, x - 1.0);
  Pair u{t, t.constant(0)};
  if (accuracy == Accuracy::full) {
    // u = t + sqrt(2t + t^2), the root with what rounding leaves.
    const Pair square = exact_product(t, t);
    const Pair radicand = exact_sum(2.0 * t, square.hi);
    const Real root = sqrt(radicand.hi);
    const Real rest = (fma(-root, root, radicand.hi) + (radicand.lo + square.lo)) / (2.0 * root);
    const Pair sum = exact_sum(root, t);
    u = ordered_sum(sum.hi, sum.lo + select(t > 0.0, rest, 0.0));
  } else {
    u.hi = t + sqrt(fma(t, t, 2.0 * t));
  }
  const Real result = sum_of(log1p_or_log_of_twice(u, large, x, accuracy));
  return select(x < 1.0, kNan, select(x < kInfinity, result, x));
}

Real atanh(Real x, Accuracy accuracy) {
  // log(1 + u) / 2 with u = 2x / (1 - x)
  const Real a = abs(x);
  const Pair denominator = exact_sum(a.constant(1), -a);
  const Real twice = 2.0 * a;
  Pair u{twice / denominator.hi, a.constant(0)};
  if (accuracy == Accuracy::full) {
    u.lo = (fma(-u.hi, denominator.hi, twice) - u.hi * denominator.lo) / denominator.hi;
  }
  Real result = 0.5 * sum_of(log1p_pair(u, accuracy));
  result = select(a < 0x1p-28, a, select(a < 1.0, result, select(a == 1.0, kInfinity, a.constant(kNan))));
  return copysign(result, x);
}

Real logaddexp(Real a, Real b, Accuracy accuracy) {
  const Mask a_larger = a > b;
  const Real high = select(a_larger, a, b);
  const Real low = select(a_larger, b, a);
  const Pair difference = exact_sum(low, -high);
  const Real bounded = at_least(difference.hi, accuracy == Accuracy::full ? -750 : -300);
  const ScaledPair scaled = exp_pair({bounded, select(bounded > -700.0, difference.lo, 0.0)}, accuracy);
  Pair e{scaled.value.hi, a.constant(0)};
  if (accuracy == Accuracy::full) {
    e.hi = scale(scaled.value.hi, scaled.power);
    e.lo = select(bounded > -700.0, scaled.value.lo * power_of_two(scaled.power), 0.0);
  } else {
    e.hi = scaled.value.hi * power_of_two(scaled.power);
  }
  Pair log = log1p_pair(e, accuracy);
  if (accuracy == Accuracy::full) log.hi = select(e.hi < 0x1p-54, e.hi, log.hi);  // it may be subnormal
  const Pair sum = exact_sum(high, log.hi);
  Real result = sum.hi + (sum.lo + log.lo);
  // Far apart, and where an infinity makes the difference meaningless.
  result = select(difference.hi > -800.0, result, high + 0.0);
  result = select(abs(high) == kInfinity, high, result);
  return select(unordered(a, b), a + b, result);
}

Real pow(Real base, Real exponent, Accuracy accuracy) {
  const bool full = accuracy == Accuracy::full;
  const Real magnitude = abs(base);
  const Decomposed d = decompose(magnitude, accuracy);
  const Pair log = with_exponent(d.k, log_of_sum(d.f, accuracy, Terms::two), accuracy);
  Real log_hi = select(magnitude < kInfinity, log.hi, magnitude);
  log_hi = select(magnitude == 0.0, -kInfinity, log_hi);

  const Real product = exponent * log_hi;
  const Real bounded = at_least(at_most(product, full ? 800 : 300), full ? -800 : -300);
  Real result = product;
  if (full) {
    const Real product_lo = fma(exponent, log_hi, -product) + exponent * log.lo;
    const ScaledPair e = exp_pair({bounded, select(abs(product) < 800.0, product_lo, 0.0)}, accuracy);
    result = scale(e.value.hi, e.power);
  } else {
    const ScaledPair e = exp_pair({bounded, base.constant(0)}, accuracy);
    result = e.value.hi * power_of_two(e.power);
  }

  const Mask whole = trunc(exponent) == exponent;
  const Real half = exponent * 0.5;
  const Mask odd = whole & (trunc(half) != half);
  result = select(odd, copysign(result, base), result);
  result = select((base < 0.0) & (base > -kInfinity) & !whole, kNan, result);
  const Mask minus_one_to_infinity = (magnitude == 1.0) & (abs(exponent) == kInfinity);
  return select((exponent == 0.0) | (base == 1.0) | minus_one_to_infinity, 1.0, result);
}

}  // namespace lento::codegen

// Exponentials and hyperbolic functions on doubles: x = n ln(2) + r, a polynomial in r, and the exponent n put back.
#include "codegen/math/functions.h"
#include "codegen/math/polynomials.h"

#include <limits>

namespace lento::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Adding this leaves a whole number in the lowest bits of a double.
constexpr double kRounder = 0x1.8p52;

/// x = n ln(2) + r, |r| <= 0.347. For |x| up to 2000.
struct ReducedExponent {
  Real n;
  Pair r;
};

ReducedExponent reduce(Real x, Accuracy accuracy) {
  const Real n = fma(x, kInverseLn2[0], kRounder) - kRounder;
  const Real near = fma(n, -kLn2[0], x);  // exact
  const Real r = fma(n, -kLn2[1], near);
  if (accuracy == Accuracy::brief) return {n, {r, r.constant(0)}};
  return {n, {r, fma(n, -kLn2[1], near - r)}};
}

/// sinh(r) - r.hi and cosh(r) - 1.
struct SmallHyperbolic {
  Real sinh_rest;
  Real cosh_rest;
};

SmallHyperbolic small_hyperbolic(Pair r, Accuracy accuracy) {
  const bool full = accuracy == Accuracy::full;
  const Real z = r.hi * r.hi;
  const Real odd = full ? polynomial(z, kSinh) : polynomial(z, kSinhBrief);
  const Real even = full ? polynomial(z, kCosh) : polynomial(z, kCoshBrief);
  const Real cube = z * r.hi;
  if (!full) return {cube * odd, z * even};
  return {fma(cube, odd, r.lo), fma(z, even, r.hi * r.lo)};
}

/// The hyperbolic functions of |x| = n ln(2) + r, up to a common factor 2^-extra:
/// sinh|x| = slope sinh(r) + level cosh(r), and cosh|x| with both exchanged.
struct Hyperbolic {
  Pair r;
  SmallHyperbolic small;
  Pair slope;  // (2^n + 2^-n) / 2
  Pair level;  // (2^n - 2^-n) / 2
  Real extra;
};

Hyperbolic hyperbolic(Real magnitude, Accuracy accuracy) {
  const ReducedExponent reduced = reduce(magnitude, accuracy);
  // Near the overflow 2^n is not finite although the result is.
  const Real n = at_most(reduced.n, 1000);
  const Real growing = power_of_two(n - 1.0);
  const Real shrinking = power_of_two(-1.0 - n);
  const Real slope = growing + shrinking;
  const Real level = growing - shrinking;
  return {reduced.r,
          small_hyperbolic(reduced.r, accuracy),
          {slope, shrinking - (slope - growing)},
          {level, (growing - level) - shrinking},
          power_of_two(reduced.n - n)};
}

/// slope sinh(r) + level cosh(r)
Pair combine(const Hyperbolic& h, Pair slope, Pair level, Accuracy accuracy) {
  if (accuracy == Accuracy::brief) {
    const Real rest = fma(slope.hi, h.small.sinh_rest, level.hi * h.small.cosh_rest);
    return {fma(slope.hi, h.r.hi, level.hi), rest};
  }
  const Pair linear = exact_product(slope.hi, h.r.hi);
  const Pair sum = exact_sum(level.hi, linear.hi);
  const Real rest = fma(slope.hi, h.small.sinh_rest, fma(level.hi, h.small.cosh_rest, fma(slope.lo, h.r.hi, level.lo)));
  return ordered_sum(sum.hi, sum.lo + linear.lo + rest);
}

Pair sinh_pair(const Hyperbolic& h, Accuracy accuracy) { return combine(h, h.slope, h.level, accuracy); }
Pair cosh_pair(const Hyperbolic& h, Accuracy accuracy) { return combine(h, h.level, h.slope, accuracy); }

}  // namespace

Real power_of_two(Real power) { return real_of(bits_of(power + (kRounder + 1023)) << 52, power); }

Real scale(Real x, Real power) {
  const Real half = fma(power, 0.5, kRounder) - kRounder;
  return x * power_of_two(half) * power_of_two(power - half);
}

ScaledPair exp_pair(Pair x, Accuracy accuracy) {
  const ReducedExponent reduced = reduce(x.hi, accuracy);
  Real r = reduced.r.hi;
  if (accuracy == Accuracy::brief) {
    const Real rest = polynomial(r, kExpBrief) * r * r;
    return {reduced.n, {1.0 + (r + rest), r.constant(0)}};
  }
  const Pair exact = exact_sum(r, x.lo);
  r = exact.hi;
  const Real r_lo = exact.lo + reduced.r.lo;
  const Real rest = fma(polynomial(r, kExp) * r, r, fma(r, r_lo, r_lo));
  const Pair sum = ordered_sum(r.constant(1), r);
  return {reduced.n, ordered_sum(sum.hi, sum.lo + rest)};
}

Real exp(Real x, Accuracy accuracy) {
  if (accuracy == Accuracy::brief) {
    x = at_least(at_most(x, 300), -300);
    const ScaledPair e = exp_pair({x, x.constant(0)}, accuracy);
    return e.value.hi * power_of_two(e.power);
  }
  x = at_least(at_most(x, 750), -750);
  const ReducedExponent reduced = reduce(x, Accuracy::brief);
  const Real r = reduced.r.hi;
  return scale(1.0 + fma(polynomial(r, kExp) * r, r, r), reduced.n);
}

Real expm1(Real x, Accuracy accuracy) {
  const bool full = accuracy == Accuracy::full;
  const Real bounded = at_least(at_most(x, full ? 750 : 300), -60);
  const ReducedExponent reduced = reduce(bounded, accuracy);
  const Real r = reduced.r.hi;
  const Real quadratic = full ? polynomial(r, kExp) : polynomial(r, kExpBrief);
  // Half of 2^n, which is finite wherever the result is.
  const Real half = power_of_two(at_most(reduced.n, 1024) - 1.0);
  Real result = r;
  if (full) {
    const Pair small = ordered_sum(r, fma(quadratic * r, r, reduced.r.lo));
    const Pair sum = exact_sum(half - 0.5, half * small.hi);
    result = 2.0 * (sum.hi + fma(half, small.lo, sum.lo));
  } else {
    result = 2.0 * fma(half, fma(quadratic * r, r, r), half - 0.5);
  }
  // Also right for 0 and what is too small to be halved.
  result = select(abs(x) < 0x1p-54, x, result);
  return full ? select(x > 709.79, x.constant(kInfinity), result) : result;
}

Real sinh(Real x, Accuracy accuracy) {
  const Hyperbolic h = hyperbolic(at_most(abs(x), accuracy == Accuracy::full ? 750 : 300), accuracy);
  const Pair value = sinh_pair(h, accuracy);
  const Real magnitude = value.hi + value.lo;
  return copysign(accuracy == Accuracy::full ? magnitude * h.extra : magnitude, x);
}

Real cosh(Real x, Accuracy accuracy) {
  const Hyperbolic h = hyperbolic(at_most(abs(x), accuracy == Accuracy::full ? 750 : 300), accuracy);
  const Pair value = cosh_pair(h, accuracy);
  const Real result = value.hi + value.lo;
  return accuracy == Accuracy::full ? result * h.extra : result;
}

Real tanh(Real x) {
  const Real magnitude = at_most(abs(x), 22);
  const Hyperbolic h = hyperbolic(magnitude, Accuracy::full);
  const Real result = quotient(sinh_pair(h, Accuracy::full), cosh_pair(h, Accuracy::full));
  // The quotient loses bits of what is nearly subnormal.
  return copysign(select(magnitude < 0x1p-30, magnitude, result), x);
}

Real sigmoid(Real x) {
  const Real e = exp(-abs(x), Accuracy::full);
  const Pair denominator = ordered_sum(e.constant(1), e);
  const Real inverse = 1.0 / denominator.hi;
  const Real numerator = select(x < 0.0, e, 1.0);
  const Real first = numerator * inverse;
  const Real rest = fma(-first, denominator.hi, numerator) - first * denominator.lo;
  // Where e is tiny the quotient is e itself, which may be subnormal.
  return select(x < -100.0, e, fma(rest, inverse, first));
}

}  // namespace lento::codegen

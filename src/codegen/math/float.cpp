// The functions on floats that matter most, computed in floats.
#include "codegen/math/functions.h"
#include "codegen/math/polynomials.h"

#include <limits>

namespace lento::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kRounder = 0x1.8p23;
constexpr std::uint64_t kRounderBits = 0x4b400000U;
constexpr std::uint64_t kRootHalfBits = 0x3f3504f3U;
constexpr std::uint64_t kSign = 0x80000000U;
constexpr std::uint64_t kLargestOfExponent = 0x40000000U;

/// e^x = 2^n (1 + rest), with n in the lowest bits of `shifted`.
struct Exponential {
  Bits shifted;
  Real n;
  Real rest;
};

enum class Remainder { any, bounded };

Exponential exponential(Real x, Remainder remainder = Remainder::any) {
  const Real shifted = fma(x, kInverseLn2[0], kRounder);
  const Real n = shifted - kRounder;
  Real r = fma(n, -kLn2Float[1], fma(n, -kLn2Float[0], x));
  // Without its largest bit an exponent is below 1: that of infinity, of nan and of what is too large. Others have
  // none.
  if (remainder == Remainder::bounded) r = real_of(bits_of(r) & ~kLargestOfExponent, x);
  return {bits_of(shifted), n, fma(polynomial(r, kExpFloat) * r, r, r)};
}

/// 2^k (1 + f)
struct Decomposed {
  Real k;
  Real f;
};

/// Of a positive, normal number.
Decomposed decompose(Real x) {
  const Bits offset = bits_of(x) - kRootHalfBits;
  const Bits exponent = arithmetic_shift(offset, 23);
  const Real f = real_of(bits_of(x) - (exponent << 23), x) - 1.0;
  return {{x.builder, x.builder->CreateSIToFP(exponent.value, x.type())}, f};
}

Real log_of(Real k, Real f) {
  const Real rest = f * f * fma(f, polynomial(f, kLog1pFloat), -0.5);
  const Real fraction = f + fma(k, kLn2Float[1], rest);
  return fma(k, kLn2Float[0], fraction);
}

/// 2^n where it is normal.
Real power_of_exponential(const Exponential& e) { return real_of((e.shifted + 127) << 23, e.rest); }

}  // namespace

Real exp_float(Real x, const TargetHooks& hooks) {
  if (hooks.scale != nullptr && x.type()->isVectorTy()) {
    // Then x needs no bounds: whatever n is, also nan, decides the result, if only the rest is a number.
    const Exponential e = exponential(x, Remainder::bounded);
    return {x.builder, hooks.scale(*x.builder, (1.0 + e.rest).value, e.n.value)};
  }
  const Exponential e = exponential(at_least(at_most(x, 89.5), -104));
  // The exponent is put back in two halves, the first without rounding, so that subnormal results round once.
  const Bits n = e.shifted - kRounderBits;
  const Bits half = arithmetic_shift(n, 1);
  const Real first = real_of((half + 127) << 23, x);
  return fma(first, e.rest, first) * real_of((n - half + 127) << 23, x);
}

Real log_float(Real x) {
  const Mask subnormal = x < 0x1p-126;
  const Real normal = select(subnormal, x * 0x1p23, x);
  const Decomposed d = decompose(normal);
  Real result = log_of(select(subnormal, d.k - 23.0, d.k), d.f);
  result = select(x < kInfinity, result, x);
  return select(x < 0.0, kNan, select(x == 0.0, -kInfinity, result));
}

Real tanh_float(Real x) {
  const Real magnitude = at_most(abs(x), 9.25);
  const Real z = magnitude * magnitude;
  const Real small = fma(magnitude * z, polynomial(z, kTanhFloat), magnitude);
  // 1 - 2 / (e^2x + 1)
  const Exponential e = exponential(2.0 * magnitude);
  const Real power = power_of_exponential(e);
  const Real large = 1.0 - 2.0 / fma(power, e.rest, power + 1.0);
  return copysign(select(magnitude > 0.55, large, small), x);
}

Real sigmoid_float(Real x, const TargetHooks& hooks) {
  const Real e = exp_float(-abs(x), hooks);
  const Pair denominator = ordered_sum(e.constant(1), e);
  const Real first = select(x < 0.0, e, 1.0) / denominator.hi;
  return fma(-first, denominator.lo, first);
}

Real erf_float(Real x) {
  const Real magnitude = at_most(abs(x), 4);
  const Real z = magnitude * magnitude;
  const Real small = fma(magnitude, polynomial(z, kErfFloat), magnitude);
  const Exponential e = exponential(polynomial(magnitude, kErfTailFloat));
  const Real power = power_of_exponential(e);
  const Real large = 1.0 - fma(power, e.rest, power);
  return copysign(select(magnitude > 1.0, large, small), x);
}

Real erfinv_float(Real x) {
  // As for doubles (erf.cpp).
  const Real level = fma(-x, x, 1.0);
  const Decomposed d = decompose(level);
  const Real w = -log_of(d.k, d.f);
  const Real near = w - 1.25;
  const Real near_rest = fma(near, polynomial(near, std::span(kErfinvFloat).subspan(1)), kErfinvRestFloat[0]);
  const Real far = sqrt(w) - 3.125;
  const Real far_rest = fma(far, polynomial(far, std::span(kErfinvFarFloat).subspan(1)), kErfinvRestFloat[1]);
  const Mask is_near = w < 5.0;
  const Real factor = select(is_near, kErfinvFloat[0], x.constant(kErfinvFarFloat[0]));
  // -0 would lose its sign in the sum.
  const Real result = copysign(fma(x, factor, x * select(is_near, near_rest, far_rest)), x);
  return select(level > 0.0, result, x * select(level == 0.0, kInfinity, x.constant(kNan)));
}

namespace {

Real sin_or_cos(ReducedAngle reduced, Bits quadrant, Bits sign) {
  const Real r = reduced.angle.hi;
  const Real z = r * r;
  const Real sin = r + fma(r * z, polynomial(z, kSinFloat), reduced.angle.lo);
  const Real level = fma(z, -0.5, 1.0);
  const Real cos = level + fma(z * z, polynomial(z, kCosFloat), fma(z, -0.5, 1.0 - level));
  const Real value = select(not_zero(quadrant & 1), cos, sin);
  return real_of(bits_of(value) ^ ((quadrant << 30) & kSign) ^ sign, value);
}

}  // namespace

Real sin_float(Real x) {
  const ReducedAngle reduced = reduce_angle_float(x);
  return sin_or_cos(reduced, reduced.quadrant, bits_of(x) & kSign);
}

Real cos_float(Real x) {
  const ReducedAngle reduced = reduce_angle_float(x);
  return sin_or_cos(reduced, reduced.quadrant + 1, reduced.quadrant.constant(0));
}

}  // namespace lento::codegen

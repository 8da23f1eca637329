// Sine, cosine and tangent on doubles, from the polynomials of both on a quarter turn.
#include "codegen/math/functions.h"
#include "codegen/math/polynomials.h"

namespace lento::codegen {
namespace {

constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

/// sin and cos of an angle of at most 0.8, each as a sum; the second parts are not normalised.
struct SinCos {
  Pair sin;
  Pair cos;
};

SinCos sin_cos(Pair angle, Accuracy accuracy) {
  const bool full = accuracy == Accuracy::full;
  const Real r = angle.hi;
  const Real z = r * r;
  const Real odd = full ? polynomial(z, kSin) : polynomial(z, kSinBrief);
  const Real even = full ? polynomial(z, kCos) : polynomial(z, kCosBrief);
  const Real level = fma(z, -0.5, 1.0);
  if (!full) return {{r, r * z * odd}, {level, z * z * even}};
  const Real square_rest = fma(fma(r, r, -z), 0.5, r * angle.lo);
  const Real level_rest = fma(z, -0.5, 1.0 - level);  // exact
  return {{r, fma(r * z, odd, fma(z * -0.5, angle.lo, angle.lo))}, {level, fma(z * z, even, level_rest - square_rest)}};
}

/// One of both by the parity of the quadrant, with the sign that the second bit of `sign_quadrant` says.
Real choose(Mask cosine, SinCos both, Bits sign_quadrant, Bits sign) {
  const Pair value{select(cosine, both.cos.hi, both.sin.hi), select(cosine, both.cos.lo, both.sin.lo)};
  const Real sum = value.hi + value.lo;
  return real_of(bits_of(sum) ^ ((sign_quadrant << 62) & kSign) ^ sign, sum);
}

}  // namespace

Real sin(Real x) {
  const ReducedAngle reduced = reduce_angle(x, Accuracy::full);
  const SinCos both = sin_cos(reduced.angle, Accuracy::full);
  return choose(not_zero(reduced.quadrant & 1), both, reduced.quadrant, bits_of(x) & kSign);
}

Real cos(Real x) {
  const ReducedAngle reduced = reduce_angle(x, Accuracy::full);
  const SinCos both = sin_cos(reduced.angle, Accuracy::full);
  const Bits turned = reduced.quadrant + 1;
  return choose(not_zero(turned & 1), both, turned, turned.constant(0));
}

Real tan(Real x, Accuracy accuracy) {
  const ReducedAngle reduced = reduce_angle(x, accuracy);
  const SinCos both = sin_cos(reduced.angle, accuracy);
  const Mask odd = not_zero(reduced.quadrant & 1);
  Real result = x;
  if (accuracy == Accuracy::full) {
    const Pair sin = ordered_sum(both.sin.hi, both.sin.lo);
    const Pair cos = ordered_sum(both.cos.hi, both.cos.lo);
    result = quotient({select(odd, cos.hi, sin.hi), select(odd, cos.lo, sin.lo)},
                      {select(odd, sin.hi, cos.hi), select(odd, sin.lo, cos.lo)});
    result = select(abs(x) < 0x1p-30, abs(x), result);  // the quotient loses bits of what is nearly subnormal
  } else {
    const Real sin = both.sin.hi + both.sin.lo;
    const Real cos = both.cos.hi + both.cos.lo;
    result = select(odd, cos, sin) / select(odd, sin, cos);
  }
  const Bits sign = ((reduced.quadrant << 63) ^ bits_of(x)) & kSign;
  return real_of(bits_of(result) ^ sign, result);
}

}  // namespace lento::codegen

// Inverse trigonometric functions and hypot, on doubles.
#include "codegen/math/functions.h"
#include "codegen/math/polynomials.h"

#include <limits>

namespace lento::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// asin of x = root + root_lo as root + rest, where square is its square, at most 1/4.
Real asin_rest(Real root, Real root_lo, Real square, Accuracy accuracy) {
  const bool full = accuracy == Accuracy::full;
  const Real p = full ? polynomial(square, kAsin) : polynomial(square, kAsinBrief);
  return full ? fma(root * square, p, root_lo) : root * square * p;
}

/// |x| up to 1/2 by itself; above, asin x = pi/2 - 2 asin(sqrt((1 - x) / 2)).
struct AsinParts {
  Mask large;
  Real root;
  Real rest;
};

AsinParts asin_parts(Real magnitude, Accuracy accuracy) {
  const Mask large = magnitude > 0.5;
  const Real half = fma(magnitude, -0.5, 0.5);  // exact where it is used
  const Real square = select(large, half, magnitude * magnitude);
  const Real root = select(large, sqrt(half), magnitude);
  Real root_lo = root.constant(0);
  if (accuracy == Accuracy::full) {
    const Real rest = fma(-root, root, square) / (2.0 * root);
    root_lo = select(large & (root > 0.0), rest, 0.0);
  }
  return {large, root, asin_rest(root, root_lo, square, accuracy)};
}

/// atan of a ratio in [0, 1].
Pair atan_pair(Pair ratio, Accuracy accuracy) {
  const Real z = ratio.hi * ratio.hi;
  if (accuracy == Accuracy::brief) return {ratio.hi, ratio.hi * z * polynomial(z, kAtanBrief)};
  // The derivative is 1 / (1 + z).
  const Real from_lo = ratio.lo / (1.0 + z);
  return ordered_sum(ratio.hi, fma(ratio.hi * z, polynomial(z, kAtan), from_lo));
}

/// halves * pi/2 + sign * value, where halves is 1 or 2.
Real from_multiple(double halves, Pair value, double sign) {
  const Pair sum = ordered_sum(value.hi.constant(halves * kHalfPi[0]), value.hi * sign);
  return sum.hi + (fma(value.lo, sign, sum.lo) + halves * kHalfPi[1]);
}

}  // namespace

Real asin(Real x, Accuracy accuracy) {
  const Real magnitude = abs(x);
  const AsinParts parts = asin_parts(magnitude, accuracy);
  const Real small = parts.root + parts.rest;
  const Real large = from_multiple(1, {2.0 * parts.root, 2.0 * parts.rest}, -1);
  return copysign(select(parts.large, large, small), x);
}

Real acos(Real x, Accuracy accuracy) {
  const AsinParts parts = asin_parts(abs(x), accuracy);
  const Mask negative = x < 0.0;
  const Pair twice{2.0 * parts.root, 2.0 * parts.rest};
  const Real large = select(negative, from_multiple(2, twice, -1), twice.hi + twice.lo);
  const Pair angle{parts.root, parts.rest};
  const Real small = select(negative, from_multiple(1, angle, 1), from_multiple(1, angle, -1));
  return select(parts.large, large, small);
}

Real atan(Real x, Accuracy accuracy) {
  const Real magnitude = abs(x);
  const Mask large = magnitude > 1.0;
  const Real inverse = 1.0 / magnitude;
  Pair ratio{select(large, inverse, magnitude), x.constant(0)};
  if (accuracy == Accuracy::full) {
    const Mask exact = large & (magnitude < 0x1p900);
    ratio.lo = select(exact, fma(-inverse, magnitude, 1.0) * inverse, 0.0);
  }
  const Pair value = atan_pair(ratio, accuracy);
  const Real result = select(large, from_multiple(1, value, -1), value.hi + value.lo);
  return copysign(result, x);
}

Real atan2(Real y, Real x, Accuracy accuracy) {
  const bool full = accuracy == Accuracy::full;
  const Real y_size = abs(y);
  const Real x_size = abs(x);
  const Mask steep = y_size > x_size;
  Real above = select(steep, x_size, y_size);
  Real below = select(steep, y_size, x_size);
  const Mask zero = below == 0.0;
  const Mask infinite = above == kInfinity;  // then both are
  Pair ratio{above / below, x.constant(0)};
  if (full) {
    Real factor = select(below > 0x1p500, 0x1p-500, select(below < 0x1p-500, 0x1p500, x.constant(1)));
    above = above * factor;
    below = below * factor;
    const Real rest = fma(-ratio.hi, below, above) / below;
    const Mask exact = (ratio.hi > 0x1p-900) & (below < kInfinity);
    ratio.lo = select(exact, rest, 0.0);
  }
  ratio.hi = select(zero, 0.0, select(infinite, 1.0, ratio.hi));
  if (full) ratio.lo = select(zero | infinite, 0.0, ratio.lo);
  const Pair value = atan_pair(ratio, accuracy);

  const llvm::CmpInst::Predicate negative = llvm::CmpInst::ICMP_SLT;
  const Bits x_bits = bits_of(x);
  const Mask left{x.builder, x.builder->CreateICmp(negative, x_bits.value, x_bits.constant(0).value)};
  const Real flat = select(left, from_multiple(2, value, -1), value.hi + value.lo);
  const Real upright = select(left, from_multiple(1, value, 1), from_multiple(1, value, -1));
  const Real result = copysign(select(steep, upright, flat), y);
  return select(unordered(x, y), x + y, result);
}

Real hypot(Real a, Real b, Accuracy accuracy) {
  const Real a_size = abs(a);
  const Real b_size = abs(b);
  Real result = a;
  if (accuracy == Accuracy::full) {
    const Real larger = select(a_size > b_size, a_size, b_size);
    const Mask huge = larger > 0x1p500;
    const Mask tiny = larger < 0x1p-500;
    const Real factor = select(huge, 0x1p-600, select(tiny, 0x1p600, a.constant(1)));
    const Real inverse = select(huge, 0x1p600, select(tiny, 0x1p-600, a.constant(1)));
    const Real x = a_size * factor;
    const Real y = b_size * factor;
    result = sqrt(fma(x, x, y * y)) * inverse;
  } else {
    result = sqrt(fma(a, a, b * b));
  }
  return select((a_size == kInfinity) | (b_size == kInfinity), kInfinity, result);
}

}  // namespace lento::codegen

// The error function, its complement and its inverse, on doubles.
#include "codegen/math/functions.h"
#include "codegen/math/polynomials.h"

#include <limits>

namespace lento::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// erfc of a magnitude as 2^power (hi + lo): e^(-x^2) P(t) / (1 + 2x).
ScaledPair erfc_of_magnitude(Real x, Accuracy accuracy) {
  const Pair square = exact_product(x, x);
  const ScaledPair e = exp_pair({-square.hi, -square.lo}, accuracy);
  const Real t = (x - 3.0) / (x + 3.0);
  if (accuracy == Accuracy::brief) {
    return {e.power, {e.value.hi * polynomial(t, kErfcBrief) / fma(x, 2.0, 1.0), x.constant(0)}};
  }
  const Real higher = polynomial(t, std::span(kErfc).subspan(1));
  const Pair p = ordered_sum(x.constant(kErfc[0]), t * higher);
  const Pair product = exact_product(e.value.hi, p.hi);
  const Real product_lo = product.lo + fma(e.value.hi, p.lo, e.value.lo * p.hi);
  const Pair denominator = exact_sum(x.constant(1), 2.0 * x);
  return {e.power, {quotient({product.hi, product_lo}, denominator), x.constant(0)}};
}

}  // namespace

Real erf(Real x) {
  const Real magnitude = at_most(abs(x), 6);
  const Real z = magnitude * magnitude;
  const Real small = fma(magnitude, polynomial(z, kErf), magnitude);
  const ScaledPair tail = erfc_of_magnitude(magnitude, Accuracy::full);
  const Real large = fma(-tail.value.hi, power_of_two(tail.power), 1.0);
  return copysign(select(magnitude > 1.0, large, small), x);
}

Real erfc(Real x, Accuracy accuracy) {
  const bool full = accuracy == Accuracy::full;
  const ScaledPair tail = erfc_of_magnitude(at_most(abs(x), full ? 28 : 10.2), accuracy);
  Real value = full ? scale(tail.value.hi, tail.power) : tail.value.hi * power_of_two(tail.power);
  if (full) {
    // Near 0 an error of t counts too much there: 1 - erf.
    const Real magnitude = abs(x);
    const Pair level = exact_sum(x.constant(1), -magnitude);
    const Real small = level.hi + fma(-magnitude, polynomial(magnitude * magnitude, kErf), level.lo);
    value = select(magnitude < 0.5, small, value);
  }
  return select(x < 0.0, 2.0 - value, value);
}

Real erfinv(Real x) {
  // x times a smooth function of w = -log(1 - x^2), and further out of its root.
  const Real level = fma(-x, x, 1.0);
  const Pair log = log_pair(level);
  const Pair w{-log.hi, -log.lo};
  const Real near = w.hi - 1.25;
  // The slope of the polynomial is nearly 1/4 wherever what log.hi leaves counts.
  const Real near_rest = fma(near, polynomial(near, std::span(kErfinv).subspan(1)), fma(w.lo, 0.25, kErfinvRest[0]));
  const Real root = sqrt(w.hi);
  const Real far = root - 4.0;
  // 1 / (2 root), as exactly as is needed for what the root leaves.
  const Real half_inverse = fma(far, -0.034, 0.135);
  const Real root_lo = (fma(-root, root, w.hi) + w.lo) * half_inverse;
  const Real far_rest = fma(far, polynomial(far, std::span(kErfinvFar).subspan(1)), root_lo + kErfinvRest[1]);
  const Mask is_near = w.hi < 6.75;
  const Real factor = select(is_near, kErfinv[0], x.constant(kErfinvFar[0]));
  // -0 would lose its sign in the sum.
  const Real result = copysign(fma(x, factor, x * select(is_near, near_rest, far_rest)), x);
  return select(level > 0.0, result, x * select(level == 0.0, kInfinity, x.constant(kNan)));
}

}  // namespace lento::codegen

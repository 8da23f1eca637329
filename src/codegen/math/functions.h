// The functions behind emit_math. Those with an Accuracy work on doubles; with `brief` their arguments are floats made
// wider and their results are rounded to float afterwards. Those of float.cpp work on floats.
#pragma once

#include "codegen/math/values.h"
#include "codegen/target_hooks.h"

namespace lento::codegen {

// ---- exp.cpp

/// 2^power (h + l): the exponential before it is scaled.
struct ScaledPair {
  Real power;  // whole, as a float
  Pair value;  // between 1/2 and 2
};
ScaledPair exp_pair(Pair x, Accuracy accuracy);
/// x * 2^power, rounded once also where the result is subnormal. |power| is below 2000.
Real scale(Real x, Real power);
/// 2^power for a whole power in the range of normal doubles.
Real power_of_two(Real power);

Real exp(Real x, Accuracy accuracy);
Real expm1(Real x, Accuracy accuracy);
Real sinh(Real x, Accuracy accuracy);
Real cosh(Real x, Accuracy accuracy);
Real tanh(Real x);
Real sigmoid(Real x);

// ---- log.cpp

Real log(Real x, Accuracy accuracy);
Real log2(Real x, Accuracy accuracy);
Real log10(Real x, Accuracy accuracy);
Real log1p(Real x, Accuracy accuracy);
Real asinh(Real x, Accuracy accuracy);
Real acosh(Real x, Accuracy accuracy);
Real atanh(Real x, Accuracy accuracy);
Real logaddexp(Real a, Real b, Accuracy accuracy);
/// log(x) as a sum, for a normal x up to 1; of other x it is anything.
Pair log_pair(Real x);
Real pow(Real base, Real exponent, Accuracy accuracy);

// ---- angle.cpp

/// |x| = quadrant pi/2 + angle, |angle| <= 0.8. Of a quadrant only the lowest two bits count.
struct ReducedAngle {
  Bits quadrant;  // as many bits as x
  Pair angle;
};
ReducedAngle reduce_angle(Real x, Accuracy accuracy);
/// The same for floats.
ReducedAngle reduce_angle_float(Real x);

// ---- trig.cpp

Real sin(Real x);
Real cos(Real x);
Real tan(Real x, Accuracy accuracy);

// ---- inverse.cpp

Real asin(Real x, Accuracy accuracy);
Real acos(Real x, Accuracy accuracy);
Real atan(Real x, Accuracy accuracy);
Real atan2(Real y, Real x, Accuracy accuracy);
Real hypot(Real a, Real b, Accuracy accuracy);

// ---- erf.cpp

Real erf(Real x);
Real erfc(Real x, Accuracy accuracy);
Real erfinv(Real x);

// ---- float.cpp

Real exp_float(Real x, const TargetHooks& hooks);
Real log_float(Real x);
Real tanh_float(Real x);
Real sigmoid_float(Real x, const TargetHooks& hooks);
Real erf_float(Real x);
Real erfinv_float(Real x);
Real sin_float(Real x);
Real cos_float(Real x);

}  // namespace lento::codegen

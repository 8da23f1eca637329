#include "codegen/oracle.h"

#include "backends/reference/scalar_math.h"
#include "ir/op_elementwise.gen.h"

namespace lento::testing {
namespace {

namespace math = reference::math;

Wide wide_sigmoid(Wide x, Wide) { return 1 / (1 + expf128(-x)); }

Wide wide_logaddexp(Wide a, Wide b) {
  if (a != a || b != b) return a + b;
  const Wide high = std::max(a, b);
  const Wide low = std::min(a, b);
  if (high - high != 0) return high;
  return high + log1pf128(expf128(low - high));
}

/// Halley's method on erf(y) = x; in the upper half erfc keeps what 1 - erf loses.
template <class T, class Erf, class Erfc, class Exp>
T inverse_erf(T x, double start, int steps, Erf erf, Erfc erfc, Exp exp) {
  const T size = x < 0 ? -x : x;
  const T half_root_pi = static_cast<T>(sqrtf128(atanf128(1)));
  T y = start;
  for (int step = 0; step < steps; ++step) {
    const T error = size > T(0.5) ? (1 - size) - erfc(y) : erf(y) - size;
    const T newton = error * half_root_pi * exp(y * y);
    y -= newton / (1 + y * newton);
  }
  return x < 0 ? -y : y;
}

/// Of 0, of the poles and of what has no inverse.
double special_erfinv(double x) {
  if (std::fabs(x) == 1) return x * std::numeric_limits<double>::infinity();
  return std::fabs(x) < 1 ? x : std::numeric_limits<double>::quiet_NaN();
}

/// From a start that has 3 digits.
double double_erfinv(double x, double) {
  if (!(std::fabs(x) < 1) || x == 0) return special_erfinv(x);
  const double size = std::fabs(x);
  double start = size * 0.886226925452758;
  if (size > 0.1) {
    const double l = std::log((1 - size) * (1 + size));
    const double t = 4.330746750799873 + l / 2;
    start = std::sqrt(std::sqrt(t * t - l / 0.147) - t);
  }
  return inverse_erf<double>(
      x, start, 2, [](double y) { return std::erf(y); }, [](double y) { return std::erfc(y); },
      [](double y) { return std::exp(y); });
}

Wide wide_erfinv(Wide x, Wide) {
  const double start = double_erfinv(static_cast<double>(x), 0);
  if (start - start != 0 || start == 0) return start;
  return inverse_erf<Wide>(
      x, std::fabs(start), 1, [](Wide y) { return erff128(y); }, [](Wide y) { return erfcf128(y); },
      [](Wide y) { return expf128(y); });
}

double double_sigmoid(double x, double) { return 1 / (1 + std::exp(-x)); }

/// Rounded from more than double, for its terms may cancel.
double double_logaddexp(double a, double b) { return static_cast<double>(wide_logaddexp(a, b)); }

#define LENTO_UNARY(which, function)                                                                     \
  MathFunction {                                                                                         \
    op::which, #which, 1, [](double a, double) { return std::function(a); },                             \
        [](Wide a, Wide) { return function##f128(a); }, [](float a, float) { return std::function(a); }, \
        [](double a, double) { return std::function(a); }                                                \
  }
#define LENTO_BINARY(which, function)                                                                              \
  MathFunction {                                                                                                   \
    op::which, #which, 2, [](double a, double b) { return std::function(a, b); },                                  \
        [](Wide a, Wide b) { return function##f128(a, b); }, [](float a, float b) { return std::function(a, b); }, \
        [](double a, double b) { return std::function(a, b); }                                                     \
  }

const MathFunction kFunctions[] = {
    LENTO_UNARY(exp, exp),
    LENTO_UNARY(expm1, expm1),
    LENTO_UNARY(log, log),
    LENTO_UNARY(log1p, log1p),
    LENTO_UNARY(log2, log2),
    LENTO_UNARY(log10, log10),
    LENTO_UNARY(sin, sin),
    LENTO_UNARY(cos, cos),
    LENTO_UNARY(tan, tan),
    LENTO_UNARY(asin, asin),
    LENTO_UNARY(acos, acos),
    LENTO_UNARY(atan, atan),
    LENTO_UNARY(sinh, sinh),
    LENTO_UNARY(cosh, cosh),
    LENTO_UNARY(tanh, tanh),
    LENTO_UNARY(asinh, asinh),
    LENTO_UNARY(acosh, acosh),
    LENTO_UNARY(atanh, atanh),
    {op::sigmoid, "sigmoid", 1, double_sigmoid, wide_sigmoid, [](float a, float) { return math::sigmoid(a); },
     [](double a, double) { return math::sigmoid(a); }},
    LENTO_UNARY(erf, erf),
    LENTO_UNARY(erfc, erfc),
    {op::erfinv, "erfinv", 1, double_erfinv, wide_erfinv, [](float a, float) { return math::erfinv(a); },
     [](double a, double) { return math::erfinv(a); }},
    LENTO_BINARY(atan2, atan2),
    LENTO_BINARY(hypot, hypot),
    LENTO_BINARY(general_pow, pow),
    {op::logaddexp, "logaddexp", 2, double_logaddexp, wide_logaddexp,
     [](float a, float b) { return math::logaddexp(a, b); }, [](double a, double b) { return math::logaddexp(a, b); }},
};

#undef LENTO_UNARY
#undef LENTO_BINARY

}  // namespace

std::span<const MathFunction> math_functions() { return kFunctions; }

}  // namespace lento::testing

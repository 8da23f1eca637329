// What the functions should give, with far more precision than asked for, and the distance from it in ulp.
#pragma once

#include "ir/op_elementwise.gen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace lento::testing {

using Wide = _Float128;

/// What a float function is measured against is double, and Wide for a double function.
struct MathFunction {
  Op op;
  const char* name;
  int arity;
  double (*in_double)(double, double);
  Wide (*in_wide)(Wide, Wide);
  /// The special values of float and double are those of these functions.
  float (*float_special)(float, float);
  double (*double_special)(double, double);
};

std::span<const MathFunction> math_functions();

/// One unit in the last place of a T as large as `value`; that of the smallest normal number below it.
template <class T, class W>
W ulp_at(W value) {
  using Limits = std::numeric_limits<T>;
  int exponent = Limits::min_exponent;
  if (value != 0) {
    if constexpr (sizeof(W) == 16) {
      static_cast<void>(frexpf128(value, &exponent));
    } else {
      static_cast<void>(std::frexp(value, &exponent));
    }
  }
  exponent = std::clamp(exponent, Limits::min_exponent, Limits::max_exponent);
  return static_cast<W>(std::ldexp(1.0, std::max(exponent - Limits::digits, -1074)));
}

/// The distance of `got` from `want` in ulp; infinite where one is nan and the other is not, or an infinity is out of
/// place. An overflow counts as the power of two above the largest number. `scale` is a size whose ulp counts when it
/// is larger.
template <class T, class W>
double ulp_distance(T got, W want, W scale = 0) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  const bool want_nan = want != want;
  if (std::isnan(got) || want_nan) return std::isnan(got) && want_nan ? 0 : kFar;
  const W top =
      static_cast<W>(std::numeric_limits<T>::max()) + ulp_at<T, W>(static_cast<W>(std::numeric_limits<T>::max()));
  const auto bounded = [top](W x) { return x > top ? top : x < -top ? -top : x; };
  const W wanted = bounded(want);
  const W difference = bounded(static_cast<W>(got)) - wanted;
  const W size = std::max(wanted < 0 ? -wanted : wanted, scale < 0 ? -scale : scale);
  return static_cast<double>((difference < 0 ? -difference : difference) / ulp_at<T, W>(size));
}

/// The scale for ulp_distance: logaddexp, whose result may cancel to nothing, is measured by its larger argument.
template <class W>
W scale_of(Op op, W a, W b) {
  return op == op::logaddexp ? std::max(a, b) : W{0};
}

}  // namespace lento::testing

// Complex scalars: special values of C99's Annex G and the Array API, and what is Lento's own choice.
#include "backends/reference/scalar_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

namespace lento::testing {
namespace {

namespace math = reference::math;
using C = std::complex<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kPi = std::numbers::pi;

/// Each part nan with nan, or equal up to a few rounding errors with the same sign of zero.
bool near(C a, C b) {
  const auto part = [](double x, double y) {
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
    if (x == y) return std::signbit(x) == std::signbit(y);
    return std::fabs(x - y) <= 4e-16 * std::fabs(y);
  };
  return part(a.real(), b.real()) && part(a.imag(), b.imag());
}

#define EXPECT_NEAR_COMPLEX(actual, expected) EXPECT_PRED2(near, actual, expected)

TEST(ScalarComplex, MultiplicationIsThePlainFormula) {
  EXPECT_EQ(math::multiply(C(1, 2), C(3, 4)), C(-5, 10));
  EXPECT_TRUE(math::is_nan(math::multiply(C(kInf, 0), C(1, 0))));  // inf * 0 in the other part
}

TEST(ScalarComplex, DivisionNeitherOverflowsNorLosesSmallParts) {
  EXPECT_NEAR_COMPLEX(math::divide(C(-5, 10), C(3, 4)), C(1, 2));
  EXPECT_NEAR_COMPLEX(math::divide(C(1e300, 1e300), C(1e300, 1e300)), C(1, 0));
  EXPECT_NEAR_COMPLEX(math::divide(C(1e-300, 0), C(1e-300, 1e-300)), C(0.5, -0.5));
  EXPECT_NEAR_COMPLEX(math::divide(C(1, -2), C(0, 0)), C(kInf, -kInf));
  EXPECT_NEAR_COMPLEX(math::divide(C(0, 0), C(0, 0)), C(kNan, kNan));
  EXPECT_NEAR_COMPLEX(math::divide(C(1, 2), C(kInf, 0)), C(0, 0));
  EXPECT_NEAR_COMPLEX(math::divide(C(1, 2), C(0, 2)), C(1, -0.5));
}

TEST(ScalarComplex, AbsAndSign) {
  EXPECT_EQ(math::abs(C(3, 4)), 5);
  EXPECT_EQ(math::abs(C(kNan, -kInf)), kInf);
  EXPECT_EQ(math::abs(C(3e300, 4e300)), 5e300);
  EXPECT_NEAR_COMPLEX(math::sign(C(3, -4)), C(0.6, -0.8));
  EXPECT_NEAR_COMPLEX(math::sign(C(0, -0.0)), C(0, 0));
  EXPECT_NEAR_COMPLEX(math::sign(C(-kInf, 5)), C(-1, 0));
  EXPECT_NEAR_COMPLEX(math::sign(C(5, -kInf)), C(0, -1));
  EXPECT_NEAR_COMPLEX(math::sign(C(kInf, kInf)), C(kNan, kNan));
  EXPECT_NEAR_COMPLEX(math::sign(C(kNan, 1)), C(kNan, kNan));
  EXPECT_NEAR_COMPLEX(math::sign(C(5e-324, 0)), C(1, 0));
  EXPECT_NEAR_COMPLEX(math::sign(C(1e308, 1e308)), C(std::sqrt(0.5), std::sqrt(0.5)));
}

TEST(ScalarComplex, KindsOfNumbers) {
  EXPECT_TRUE(math::is_nan(C(0, kNan)));
  EXPECT_TRUE(math::is_inf(C(kNan, kInf)));
  EXPECT_FALSE(math::is_finite(C(0, kInf)));
  EXPECT_TRUE(math::is_zero(C(-0.0, 0)));
  EXPECT_FALSE(math::is_zero(C(0, kNan)));
  EXPECT_EQ(math::round_half_even(C(0.5, -1.5)), C(0, -2));
}

TEST(ScalarComplex, Expm1HasTheArrayApiSpecialValues) {
  EXPECT_NEAR_COMPLEX(math::expm1(C(0, 0)), C(0, 0));
  EXPECT_NEAR_COMPLEX(math::expm1(C(0, -0.0)), C(0, -0.0));
  EXPECT_NEAR_COMPLEX(math::expm1(C(1, kInf)), C(kNan, kNan));
  EXPECT_NEAR_COMPLEX(math::expm1(C(kInf, 0)), C(kInf, 0));
  EXPECT_NEAR_COMPLEX(math::expm1(C(-kInf, 1)), C(-1, 0));
  EXPECT_NEAR_COMPLEX(math::expm1(C(kInf, 1)), C(kInf, kInf));
  EXPECT_EQ(math::expm1(C(-kInf, kInf)).real(), -1);
  EXPECT_EQ(math::expm1(C(-kInf, kNan)).real(), -1);
  EXPECT_NEAR_COMPLEX(math::expm1(C(kNan, 0)), C(kNan, 0));
  EXPECT_NEAR_COMPLEX(math::expm1(C(kNan, 1)), C(kNan, kNan));
  // Tiny arguments keep their digits: z + z^2 / 2.
  EXPECT_NEAR_COMPLEX(math::expm1(C(1e-10, 2e-10)), C(1e-10 - 1.5e-20, 2e-10 + 2e-20));
}

TEST(ScalarComplex, Log1pHasTheArrayApiSpecialValues) {
  EXPECT_NEAR_COMPLEX(math::log1p(C(-1, 0)), C(-kInf, 0));
  EXPECT_NEAR_COMPLEX(math::log1p(C(1, kInf)), C(kInf, kPi / 2));
  EXPECT_NEAR_COMPLEX(math::log1p(C(-kInf, 1)), C(kInf, kPi));
  EXPECT_NEAR_COMPLEX(math::log1p(C(kInf, 1)), C(kInf, 0));
  EXPECT_NEAR_COMPLEX(math::log1p(C(-kInf, kInf)), C(kInf, 3 * kPi / 4));
  EXPECT_NEAR_COMPLEX(math::log1p(C(kInf, kNan)), C(kInf, kNan));
  EXPECT_NEAR_COMPLEX(math::log1p(C(kNan, 1)), C(kNan, kNan));
  EXPECT_NEAR_COMPLEX(math::log1p(C(1e-10, 2e-10)), C(1e-10 + 1.5e-20, 2e-10 - 2e-20));
  EXPECT_NEAR_COMPLEX(math::log1p(C(-3, 0)), C(std::log(2.0), kPi));
  EXPECT_NEAR_COMPLEX(math::log1p(C(-3, -0.0)), C(std::log(2.0), -kPi));
}

TEST(ScalarComplex, PowersOfZeroAndWholePowers) {
  EXPECT_NEAR_COMPLEX(math::pow(C(0, 0), C(0, 0)), C(1, 0));
  EXPECT_NEAR_COMPLEX(math::pow(C(kNan, 1), C(0, 0)), C(1, 0));
  EXPECT_NEAR_COMPLEX(math::pow(C(0, 0), C(2, 5)), C(0, 0));
  EXPECT_NEAR_COMPLEX(math::pow(C(0, 0), C(-1, 0)), C(kNan, kNan));
  EXPECT_NEAR_COMPLEX(math::pow(C(0, 0), C(0, 1)), C(kNan, kNan));
  EXPECT_EQ(math::pow(C(1, 2), C(2, 0)), C(-3, 4));
  EXPECT_EQ(math::pow(C(1, 2), C(3, 0)), C(-11, -2));
  EXPECT_NEAR_COMPLEX(math::pow(C(1, 1), C(-2, 0)), C(0, -0.5));
  EXPECT_NEAR_COMPLEX(math::pow(C(4, 0), C(0.5, 0)), C(2, 0));
  EXPECT_EQ(math::pow(C(1e200, 1e200), C(1, 0)), C(1e200, 1e200));  // no square on the way
}

TEST(ScalarComplex, LogarithmsToOtherBasesAndRsqrt) {
  EXPECT_NEAR_COMPLEX(math::log2(C(8, 0)), C(3, 0));
  EXPECT_NEAR_COMPLEX(math::log10(C(0, 100)), C(2, kPi / 2 / std::log(10.0)));
  EXPECT_NEAR_COMPLEX(math::log2(C(0, 0)), C(-kInf, 0));
  EXPECT_NEAR_COMPLEX(math::rsqrt(C(-4, 0)), C(0, -0.5));
}

}  // namespace
}  // namespace lento::testing

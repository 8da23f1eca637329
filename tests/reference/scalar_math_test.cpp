// The defined results of scalar arithmetic (clause T3): tables of special values, and laws that hold for every pair of
// small integers.
#include "backends/reference/scalar_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace lento::testing {
namespace {

namespace math = reference::math;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// Equal as results: the same bits, or both nan.
bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

#define EXPECT_SAME(actual, expected) EXPECT_PRED2(same, static_cast<double>(actual), static_cast<double>(expected))

struct Row {
  double a, b, expected;
};

TEST(ScalarInteger, T3_ArithmeticWraps) {
  using L = std::numeric_limits<std::int64_t>;
  EXPECT_EQ(math::wrapping_add(L::max(), std::int64_t{1}), L::min());
  EXPECT_EQ(math::wrapping_subtract(L::min(), std::int64_t{1}), L::max());
  EXPECT_EQ(math::wrapping_multiply(L::max(), std::int64_t{2}), -2);
  EXPECT_EQ(math::wrapping_negative(L::min()), L::min());
  EXPECT_EQ(math::abs(L::min()), L::min());
  EXPECT_EQ(math::wrapping_multiply(std::uint16_t{65535}, std::uint16_t{65535}), 1);  // overflows int when promoted
  EXPECT_EQ(math::wrapping_add(std::int8_t{127}, std::int8_t{1}), -128);
  EXPECT_EQ(math::wrapping_negative(std::uint8_t{1}), 255);
}

TEST(ScalarInteger, T3_DivisionByZeroIsZeroAndLowestByMinusOneWraps) {
  using L = std::numeric_limits<std::int32_t>;
  EXPECT_EQ(math::floor_divide(7, 0), 0);
  EXPECT_EQ(math::remainder(7, 0), 0);
  EXPECT_EQ(math::fmod(-7, 0), 0);
  EXPECT_EQ(math::floor_divide(L::min(), -1), L::min());
  EXPECT_EQ(math::remainder(L::min(), -1), 0);
  EXPECT_EQ(math::fmod(L::min(), -1), 0);
  EXPECT_EQ(math::floor_divide(std::uint8_t{200}, std::uint8_t{0}), 0);
  EXPECT_EQ(math::floor_divide(std::uint8_t{200}, std::uint8_t{255}), 0);  // 255 is no -1
  EXPECT_EQ(math::remainder(std::uint8_t{200}, std::uint8_t{255}), 200);
}

TEST(ScalarInteger, DivisionLawsHoldForAllPairsOfInt8) {
  for (int i = -128; i < 128; ++i) {
    for (int j = -128; j < 128; ++j) {
      if (j == 0) continue;
      const auto a = static_cast<std::int8_t>(i);
      const auto b = static_cast<std::int8_t>(j);
      const int quotient = static_cast<int>(std::floor(static_cast<double>(i) / j));
      ASSERT_EQ(math::floor_divide(a, b), static_cast<std::int8_t>(quotient)) << i << " // " << j;
      ASSERT_EQ(math::remainder(a, b), i - quotient * j) << i << " % " << j;
      ASSERT_EQ(math::fmod(a, b), i % j) << i << ", " << j;
    }
  }
}

TEST(ScalarInteger, T3_ShiftsOutOfRangeAreDefined) {
  for (const int places : {-128, -1, 8, 9, 127}) {
    const auto p = static_cast<std::int8_t>(places);
    EXPECT_EQ(math::left_shift(std::int8_t{-1}, p), 0);
    EXPECT_EQ(math::right_shift(std::int8_t{-1}, p), -1);
    EXPECT_EQ(math::right_shift(std::int8_t{100}, p), 0);
  }
  EXPECT_EQ(math::left_shift(std::int8_t{1}, std::int8_t{7}), -128);
  EXPECT_EQ(math::left_shift(std::int8_t{-3}, std::int8_t{1}), -6);
  EXPECT_EQ(math::right_shift(std::int8_t{-5}, std::int8_t{1}), -3);
  EXPECT_EQ(math::left_shift(std::uint64_t{1}, std::uint64_t{63}), std::uint64_t{1} << 63);
  EXPECT_EQ(math::left_shift(std::uint64_t{1}, std::uint64_t{64}), 0U);
  EXPECT_EQ(math::right_shift(~std::uint64_t{0}, ~std::uint64_t{0}), 0U);
}

TEST(ScalarInteger, T3_PowWrapsAndNegativeExponentsTruncate) {
  EXPECT_EQ(math::pow(3, 4), 81);
  EXPECT_EQ(math::pow(-2, 31), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(math::pow(2, 32), 0);
  EXPECT_EQ(math::pow(0, 0), 1);
  EXPECT_EQ(math::pow(5, -1), 0);
  EXPECT_EQ(math::pow(0, -1), 0);
  EXPECT_EQ(math::pow(1, -5), 1);
  EXPECT_EQ(math::pow(-1, -5), -1);
  EXPECT_EQ(math::pow(-1, -4), 1);
  EXPECT_EQ(math::pow(-1, std::numeric_limits<std::int32_t>::min()), 1);
  EXPECT_EQ(math::pow(std::uint8_t{255}, std::uint8_t{255}), 255);
}

TEST(ScalarInteger, QuestionsAboutKind) {
  EXPECT_FALSE(math::is_nan(3));
  EXPECT_FALSE(math::is_inf(3));
  EXPECT_TRUE(math::is_finite(true));
  EXPECT_TRUE(math::sign_bit(-1));
  EXPECT_FALSE(math::sign_bit(std::uint8_t{255}));
  EXPECT_EQ(math::sign(std::int8_t{-128}), -1);
  EXPECT_EQ(math::maximum(false, true), true);
  EXPECT_EQ(math::minimum(false, true), false);
}

TEST(ScalarReal, FloorDivideHasTheArrayApiSpecialCases) {
  const std::vector<Row> table = {
      {7, 2, 3},         {-7, 2, -4},          {7, -2, -4},      {-7, -2, 3},        {1, 0.1, 9},     {0, 0, kNan},
      {1, 0, kInf},      {-1, 0, -kInf},       {1, -0.0, -kInf}, {kInf, kInf, kNan}, {kInf, 2, kInf}, {kInf, -2, -kInf},
      {-kInf, 2, -kInf}, {5, kInf, 0},         {-5, kInf, -0.0}, {5, -kInf, -0.0},   {-5, -kInf, 0},  {0, 3, 0},
      {-0.0, 3, -0.0},   {0, -3, -0.0},        {-0.0, -3, 0},    {kNan, 1, kNan},    {1, kNan, kNan}, {0.5, 1, 0},
      {-0.5, 1, -1},     {1e300, 1e-300, kInf}};
  for (const Row& row : table) {
    SCOPED_TRACE(::testing::Message() << row.a << " // " << row.b);
    EXPECT_SAME(math::floor_divide(row.a, row.b), row.expected);
    const auto a = static_cast<float>(row.a);
    const auto b = static_cast<float>(row.b);
    if (a == row.a && b == row.b) {
      EXPECT_SAME(math::floor_divide(a, b), row.expected);
    }
  }
}

TEST(ScalarReal, RemainderHasTheSignOfTheDivisor) {
  const std::vector<Row> table = {
      {7, 3, 1},       {-7, 3, 2},      {7, -3, -2},        {-7, -3, -1}, {6, 3, 0},        {-6, 3, 0},
      {6, -3, -0.0},   {-6, -3, -0.0},  {0, 3, 0},          {-0.0, 3, 0}, {0, -3, -0.0},    {-0.0, -3, -0.0},
      {1, 0, kNan},    {kInf, 1, kNan}, {kInf, kInf, kNan}, {5, kInf, 5}, {-5, kInf, kInf}, {5, -kInf, -kInf},
      {-5, -kInf, -5}, {kNan, 1, kNan}, {1, kNan, kNan}};
  for (const Row& row : table) {
    SCOPED_TRACE(::testing::Message() << row.a << " % " << row.b);
    EXPECT_SAME(math::remainder(row.a, row.b), row.expected);
    EXPECT_SAME(math::remainder(static_cast<float>(row.a), static_cast<float>(row.b)), row.expected);
  }
}

TEST(ScalarReal, MaximumAndMinimumPropagateNanAndOrderZeros) {
  EXPECT_SAME(math::maximum(kNan, 1.0), kNan);
  EXPECT_SAME(math::maximum(1.0, kNan), kNan);
  EXPECT_SAME(math::minimum(kInf, kNan), kNan);
  EXPECT_SAME(math::maximum(-0.0, 0.0), 0.0);
  EXPECT_SAME(math::maximum(0.0, -0.0), 0.0);
  EXPECT_SAME(math::minimum(-0.0, 0.0), -0.0);
  EXPECT_SAME(math::minimum(0.0, -0.0), -0.0);
  EXPECT_SAME(math::maximum(-kInf, -1.0), -1.0);
}

TEST(ScalarReal, SignsAndRounding) {
  EXPECT_SAME(math::sign(kNan), kNan);
  EXPECT_SAME(math::sign(-0.0), 0.0);
  EXPECT_SAME(math::sign(-kInf), -1.0);
  EXPECT_TRUE(math::sign_bit(-0.0));
  const std::vector<std::pair<double, double>> table = {{0.5, 0.0},   {1.5, 2.0},   {2.5, 2.0},
                                                        {-0.5, -0.0}, {-1.5, -2.0}, {0.49999999999999994, 0.0},
                                                        {kInf, kInf}, {kNan, kNan}};
  for (const auto& [x, expected] : table) EXPECT_SAME(math::round_half_even(x), expected);
}

TEST(ScalarReal, RootsExponentialsAndLogarithms) {
  EXPECT_SAME(math::rsqrt(0.0), kInf);
  EXPECT_SAME(math::rsqrt(-0.0), -kInf);
  EXPECT_SAME(math::rsqrt(kInf), 0.0);
  EXPECT_SAME(math::rsqrt(-1.0), kNan);
  EXPECT_EQ(math::rsqrt(4.0F), 0.5F);
  EXPECT_SAME(math::logaddexp(-kInf, -kInf), -kInf);
  EXPECT_SAME(math::logaddexp(kInf, kInf), kInf);
  EXPECT_SAME(math::logaddexp(kInf, -kInf), kInf);
  EXPECT_SAME(math::logaddexp(kNan, 1.0), kNan);
  EXPECT_SAME(math::logaddexp(1000.0, -kInf), 1000.0);
  EXPECT_DOUBLE_EQ(math::logaddexp(1000.0, 1000.0), 1000.0 + std::log(2.0));
  EXPECT_SAME(math::sigmoid(-kInf), 0.0);
  EXPECT_SAME(math::sigmoid(kInf), 1.0);
  EXPECT_SAME(math::sigmoid(kNan), kNan);
  EXPECT_GT(math::sigmoid(-100.0F), 0.0F);
  EXPECT_EQ(math::sigmoid(0.0F), 0.5F);
}

template <class Half>
void check_neighbours(float (*next)(float, float)) {
  // Every finite number's neighbour above is the next bit pattern.
  for (std::uint32_t bits = 1; bits < 0x7fff; ++bits) {
    const float here = static_cast<float>(Half::from_bits(static_cast<std::uint16_t>(bits)));
    if (std::isinf(here)) break;
    const float above = static_cast<float>(Half::from_bits(static_cast<std::uint16_t>(bits + 1)));
    ASSERT_EQ(next(here, INFINITY), above);
    ASSERT_EQ(next(-here, -INFINITY), -above);
    ASSERT_EQ(next(above, 0), here);
  }
  const float smallest = static_cast<float>(Half::from_bits(1));
  EXPECT_EQ(next(0, 1), smallest);
  EXPECT_EQ(next(-0.0F, -1), -smallest);
  EXPECT_SAME(next(smallest, 0), 0.0);
  EXPECT_SAME(next(-smallest, 1), -0.0);
  EXPECT_SAME(next(0, -0.0F), -0.0);
  EXPECT_SAME(next(kNan, 1), kNan);
  EXPECT_SAME(next(1, kNan), kNan);
}

TEST(ScalarReal, NextafterStepsInThe16BitFormats) {
  check_neighbours<float16>(math::nextafter_float16);
  check_neighbours<bfloat16>(math::nextafter_bfloat16);
}

}  // namespace
}  // namespace lento::testing

// The 16-bit floats: every bit pattern survives a round trip, and rounding is to nearest even in one step.
#include <lento/half.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lento {
namespace {

template <class Half>
void expect_round_trip() {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const Half half = Half::from_bits(static_cast<std::uint16_t>(bits));
    const float value = static_cast<float>(half);
    const Half back(value);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(static_cast<float>(back))) << bits;
    } else {
      ASSERT_EQ(back.bits, bits);
    }
  }
}

TEST(Half, EveryFloat16SurvivesARoundTrip) { expect_round_trip<float16>(); }
TEST(Half, EveryBfloat16SurvivesARoundTrip) { expect_round_trip<bfloat16>(); }

/// Between two neighbours: below the middle goes down, above goes up, the middle goes to the even one.
template <class Half>
void expect_nearest_even(std::uint16_t last) {
  for (std::uint16_t bits = 0; bits < last; ++bits) {
    const double low = static_cast<float>(Half::from_bits(bits));
    const double high = static_cast<float>(Half::from_bits(static_cast<std::uint16_t>(bits + 1)));
    const double middle = (low + high) / 2;
    const std::uint16_t even = (bits & 1) == 0 ? bits : static_cast<std::uint16_t>(bits + 1);
    ASSERT_EQ(Half(middle).bits, even);
    ASSERT_EQ(Half(std::nextafter(middle, 0.0)).bits, bits);
    ASSERT_EQ(Half(std::nextafter(middle, 1e300)).bits, bits + 1);
    ASSERT_EQ(Half(-middle).bits, even | 0x8000);
  }
}

TEST(Half, Float16RoundsToNearestEvenOnceAlsoInSubnormals) { expect_nearest_even<float16>(0x7bff); }
TEST(Half, Bfloat16RoundsToNearestEvenOnceAlsoInSubnormals) { expect_nearest_even<bfloat16>(0x7f7f); }

TEST(Half, OverflowGivesInfinity) {
  EXPECT_EQ(float16(65519.999).bits, 0x7bff);
  EXPECT_EQ(float16(65520.0).bits, 0x7c00);
  EXPECT_EQ(float16(-1e300).bits, 0xfc00);
  EXPECT_EQ(bfloat16(std::numeric_limits<double>::infinity()).bits, 0x7f80);
}

}  // namespace
}  // namespace lento

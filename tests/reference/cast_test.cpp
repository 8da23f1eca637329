// Casts and creation: every conversion has a defined result (clause T3).
#include "backends/reference/convert.h"
#include "ir/attrs_cast.gen.h"
#include "ir/attrs_creation.gen.h"
#include "ir/infer_cast.gen.h"
#include "ir/infer_creation.gen.h"
#include "reference/kernels_cast.gen.h"
#include "reference/kernels_creation.gen.h"
#include "reference/owned.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace lento::testing {
namespace {

using reference::convert;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

template <class To, class From>
std::vector<To> cast(const std::vector<From>& values) {
  return run(infer_astype, reference::astype, Owned(values), AstypeAttrs{dtype_of<To>()}).template values<To>();
}

TEST(Astype, T3_FloatToIntegerTruncatesAndSaturatesAndNanIsZero) {
  const std::vector<double> values = {kNan, kInf,   -kInf, 1e30, -1e30, 2.9, -2.9, 127.9,
                                      128,  -128.9, -129,  -0.0, 255.5, 256, -0.9};
  EXPECT_EQ((cast<std::int8_t>(values)),
            (std::vector<std::int8_t>{0, 127, -128, 127, -128, 2, -2, 127, 127, -128, -128, 0, 127, 127, 0}));
  EXPECT_EQ((cast<std::uint8_t>(values)),
            (std::vector<std::uint8_t>{0, 255, 0, 255, 0, 2, 0, 127, 128, 0, 0, 0, 255, 255, 0}));
  using Limits = std::numeric_limits<std::int64_t>;
  EXPECT_EQ((cast<std::int64_t, double>({0x1p63, -0x1p63, 0x1.fffffffffffffp62, kNan})),
            (std::vector<std::int64_t>{Limits::max(), Limits::min(), 0x7ffffffffffffc00, 0}));
  EXPECT_EQ((cast<std::uint64_t, double>({0x1p64, 0x1p63, -1})),
            (std::vector<std::uint64_t>{~std::uint64_t{0}, std::uint64_t{1} << 63, 0}));
  EXPECT_EQ((cast<std::int32_t, float>({0x1p31F, -0x1p31F, 0x1.fffffep30F})),
            (std::vector<std::int32_t>{2147483647, -2147483647 - 1, 2147483520}));
  EXPECT_EQ((cast<std::int8_t, float16>({float16(300), float16(-kInf), float16(kNan)})),
            (std::vector<std::int8_t>{127, -128, 0}));
}

TEST(Astype, T3_IntegerToIntegerWraps) {
  EXPECT_EQ((cast<std::int8_t, std::int64_t>({128, 255, 256, -129, 511})),
            (std::vector<std::int8_t>{-128, -1, 0, 127, -1}));
  EXPECT_EQ((cast<std::uint64_t, std::int8_t>({-1})), (std::vector<std::uint64_t>{~std::uint64_t{0}}));
  EXPECT_EQ((cast<std::int64_t, std::uint64_t>({~std::uint64_t{0}})), (std::vector<std::int64_t>{-1}));
}

TEST(Astype, ToBoolIsWhetherItDiffersFromZero) {
  EXPECT_EQ((cast<bool, double>({0.0, -0.0, 0.5, kNan, 5e-324, kInf})),
            (std::vector<bool>{false, false, true, true, true, true}));
  EXPECT_EQ((cast<bool, std::int32_t>({0, 256, -1})), (std::vector<bool>{false, true, true}));
  using C = std::complex<float>;
  EXPECT_EQ((cast<bool, C>({C(0, 0), C(0, 1), C(1, 0), C(-0.0F, -0.0F)})),
            (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ((cast<bool, float16>({float16(0), float16(6e-8)})), (std::vector<bool>{false, true}));
}

TEST(Astype, ToComplexHasZeroImaginaryPart) {
  const auto result = cast<std::complex<double>, float>({-0.0F, 2.5F});
  EXPECT_TRUE(std::signbit(result[0].real()));
  EXPECT_FALSE(std::signbit(result[0].imag()));
  EXPECT_EQ(result[1], std::complex<double>(2.5, 0));
  const auto narrowed = cast<std::complex<float>, std::complex<double>>({{1e300, 0.1}});
  EXPECT_EQ(narrowed[0], std::complex<float>(std::numeric_limits<float>::infinity(), 0.1F));
}

TEST(Astype, T2_ComplexToRealIsRefused) {
  const Owned x(std::vector<std::complex<float>>{{1, 0}});
  for (const DType dtype : {DType::float32, DType::int64, DType::float16}) {
    EXPECT_NE(message_of<DTypeError>([&] { run(infer_astype, reference::astype, x, AstypeAttrs{dtype}); }), "");
  }
  EXPECT_EQ(message_of<DTypeError>([&] { run(infer_astype, reference::astype, x, AstypeAttrs{DType::float32}); }),
            "complex64(1,) cannot be converted to float32: take its real or imag part");
}

TEST(Astype, EveryPairOfDtypesKeepsZeroAndOne) {
  dispatch_all([]<class From>() {
    dispatch_all([]<class To>() {
      if (reference::Complex<From> && !reference::Complex<To> && !std::same_as<To, bool>) return;
      for (const std::vector<From>& values : {std::vector<From>{From(0), From(1)}, std::vector<From>{}}) {
        const Owned result = run(infer_astype, reference::astype, Owned(values), AstypeAttrs{dtype_of<To>()});
        ASSERT_EQ(result.dtype(), dtype_of<To>());
        for (std::size_t i = 0; i < values.size(); ++i) {
          EXPECT_EQ(reference::widen(result.at<To>(static_cast<std::int64_t>(i))), reference::ComputeType<To>(i != 0));
        }
      }
    });
  });
}

TEST(Astype, EveryFloat16SurvivesTheWayThroughWiderTypes) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto half = float16::from_bits(static_cast<std::uint16_t>(bits));
    const auto brain = bfloat16::from_bits(static_cast<std::uint16_t>(bits));
    if (!reference::is_nan(half)) {
      ASSERT_EQ(convert<float16>(convert<double>(half)).bits, bits);
      ASSERT_EQ(convert<float16>(convert<float>(half)).bits, bits);
    }
    if (!reference::is_nan(brain)) {
      ASSERT_EQ(convert<bfloat16>(convert<double>(brain)).bits, bits);
    }
  }
}

/// Checks that `rounded` is the nearest to `value` of the numbers of its type, by looking at its neighbours; of two
/// equally near ones it must be the even one. `value` is exact in long double.
template <class H>
void expect_nearest(long double value, H rounded) {
  const auto as_wide = [](H h) { return static_cast<long double>(static_cast<float>(h)); };
  if (std::isinf(static_cast<float>(rounded))) {
    const H largest = H::from_bits(static_cast<std::uint16_t>((rounded.bits & 0x7fff) - 1));
    const H second = H::from_bits(static_cast<std::uint16_t>(largest.bits - 1));
    const long double half_step = (as_wide(largest) - as_wide(second)) / 2;
    EXPECT_GE(std::abs(value), as_wide(largest) + half_step) << static_cast<double>(value);
    return;
  }
  const long double error = std::abs(value - as_wide(rounded));
  for (const int step : {-1, 1}) {
    const auto magnitude = (rounded.bits & 0x7fff) + step;
    if (magnitude < 0) continue;
    const H neighbour = H::from_bits(static_cast<std::uint16_t>((rounded.bits & 0x8000) | magnitude));
    if (std::isinf(static_cast<float>(neighbour))) continue;
    const long double other = std::abs(value - as_wide(neighbour));
    EXPECT_LE(error, other) << static_cast<double>(value);
    if (error == other) {
      EXPECT_EQ(rounded.bits & 1, 0) << static_cast<double>(value);
    }
  }
}

TEST(Astype, DoubleToHalfRoundsOnceToNearestEven) {
  // 1 + 2^-11 + 2^-40 lies just above a tie of float16; through float32 it would become the tie and round down.
  EXPECT_EQ(convert<float16>(1 + 0x1p-11 + 0x1p-40).bits, 0x3c01);
  EXPECT_EQ(convert<float16>(1 + 0x1p-11).bits, 0x3c00);
  EXPECT_EQ(convert<bfloat16>(1 + 0x1p-8 + 0x1p-50).bits, 0x3f81);
  EXPECT_EQ(convert<float16>(65519.999).bits, 0x7bff);
  EXPECT_EQ(convert<float16>(65520.0).bits, 0x7c00);
  EXPECT_EQ(convert<float16>(0x1p-25).bits, 0);
  EXPECT_EQ(convert<float16>(0x1.0000001p-25).bits, 1);
  EXPECT_EQ(convert<float16>(-0.0).bits, 0x8000);
  std::mt19937_64 engine(1);
  for (int i = 0; i < 20000; ++i) {
    const double mantissa = 1 + static_cast<double>(engine() >> 12) * 0x1p-52;
    const int exponent = static_cast<int>(engine() % 48) - 28;
    const double value = std::ldexp(engine() % 2 == 0 ? mantissa : -mantissa, exponent);
    expect_nearest(value, convert<float16>(value));
    expect_nearest(value, convert<bfloat16>(value));
    // Near a tie.
    const double tie =
        std::bit_cast<double>((std::bit_cast<std::uint64_t>(value) >> 42 << 42) | (std::uint64_t{1} << 41));
    for (const double near : {tie, std::nextafter(tie, 0), std::nextafter(tie, kInf)}) {
      expect_nearest(near, convert<float16>(near));
      expect_nearest(near, convert<bfloat16>(near));
    }
  }
}

TEST(Astype, IntegersRoundOnceToo) {
  // Just above a tie of bfloat16: a double on the way would make it the tie.
  const std::int64_t above_tie = (std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1;
  EXPECT_EQ(static_cast<float>(convert<bfloat16>(above_tie)), 0x1p62F + 0x1p55F);
  EXPECT_EQ(static_cast<float>(convert<bfloat16>(above_tie - 1)), 0x1p62F);
  EXPECT_EQ(static_cast<float>(convert<bfloat16>(-above_tie)), -(0x1p62F + 0x1p55F));
  const std::int64_t above_float_tie = (std::int64_t{1} << 62) + (std::int64_t{1} << 38) + 1;
  EXPECT_EQ(convert<float>(above_float_tie), 0x1p62F + 0x1p39F);
  EXPECT_EQ(static_cast<float>(convert<bfloat16>(std::numeric_limits<std::int64_t>::min())), -0x1p63F);
  EXPECT_EQ(static_cast<float>(convert<bfloat16>(~std::uint64_t{0})), 0x1p64F);
  std::mt19937_64 engine(2);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t value = engine() >> (engine() % 64);
    expect_nearest(static_cast<long double>(value), convert<bfloat16>(value));
    expect_nearest(static_cast<long double>(value), convert<float16>(value));
    const auto negative = -static_cast<std::int64_t>(value >> 1);
    expect_nearest(static_cast<long double>(negative), convert<bfloat16>(negative));
  }
}

TEST(Bitcast, ReadsTheBits) {
  const Owned x(std::vector<float>{1.0F, -0.0F});
  EXPECT_EQ(run(infer_bitcast, reference::bitcast, x, BitcastAttrs{DType::uint32}).values<std::uint32_t>(),
            (std::vector<std::uint32_t>{0x3f800000, 0x80000000}));
  const Owned bytes(std::vector<std::uint8_t>{0, 1, 2, 255});
  EXPECT_EQ(run(infer_bitcast, reference::bitcast, bytes, BitcastAttrs{DType::bool_}).values<bool>(),
            (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(message_of<DTypeError>([&] { run(infer_bitcast, reference::bitcast, x, BitcastAttrs{DType::int64}); }),
            "the bits of float32(2,) cannot be read as int64: an element has 4 bytes, not 8");
}

Owned full(const Shape& shape, const Scalar& value, DType dtype) {
  FullAttrs attrs;
  attrs.shape = shape;
  attrs.dtype = dtype;
  Owned out(infer_full(attrs));
  reference::full(out.array(), value, attrs);
  return out;
}

Owned iota(std::int64_t size, const Scalar& start, const Scalar& step, DType dtype) {
  IotaAttrs attrs;
  attrs.size = size;
  attrs.dtype = dtype;
  Owned out(infer_iota(attrs));
  reference::iota(out.array(), start, step, attrs);
  return out;
}

TEST(Full, ConvertsTheNumberAsAstypeDoes) {
  EXPECT_EQ(full({2, 2}, 300, DType::uint8).values<std::uint8_t>(), (std::vector<std::uint8_t>{44, 44, 44, 44}));
  EXPECT_EQ(full({1}, 300.5, DType::uint8).at<std::uint8_t>(0), 255);
  EXPECT_EQ(full({}, ~std::uint64_t{0}, DType::uint64).at<std::uint64_t>(0), ~std::uint64_t{0});
  EXPECT_EQ(full({1}, std::complex<double>(1, 2), DType::complex64).at<std::complex<float>>(0),
            std::complex<float>(1, 2));
  EXPECT_TRUE(full({1}, kNan, DType::bool_).at<bool>(0));
  EXPECT_EQ(full({1}, (std::int64_t{1} << 62) + (std::int64_t{1} << 38) + 1, DType::float32).at<float>(0),
            0x1p62F + 0x1p39F);
  EXPECT_EQ(full({0, 3}, 1, DType::float64).shape(), (Shape{0, 3}));
}

TEST(Full, T2_RefusesShapesThatCannotBe) {
  EXPECT_EQ(message_of<ValueError>([] { full({2, -1}, 0, DType::float32); }), "negative length -1 in shape (2, -1)");
  // What is too large is refused for every op at once, when the shape gets its id: tests/ir/verify_test.cpp.
}

TEST(Iota, CountsInEveryKind) {
  EXPECT_EQ(iota(4, 3, -2, DType::int32).values<std::int32_t>(), (std::vector<std::int32_t>{3, 1, -1, -3}));
  EXPECT_EQ(iota(3, 254, 1, DType::uint8).values<std::uint8_t>(), (std::vector<std::uint8_t>{254, 255, 0}));
  const std::int64_t big = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(iota(2, big, 1, DType::int64).values<std::int64_t>(), (std::vector<std::int64_t>{big, -big - 1}));
  EXPECT_EQ(iota(2, big - 1, 1, DType::int64).values<std::int64_t>(), (std::vector<std::int64_t>{big - 1, big}));
  EXPECT_EQ(iota(3, 0.5, 0.25, DType::float32).values<float>(), (std::vector<float>{0.5F, 0.75F, 1.0F}));
  // Integers are made of integers: what a number is does not decide how a plan computes (clause T4).
  EXPECT_EQ(iota(3, 0, 1.5, DType::int64).values<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(iota(2, 1, std::complex<double>(0, 1), DType::complex128).at<std::complex<double>>(1),
            std::complex<double>(1, 1));
  EXPECT_EQ(static_cast<float>(iota(3, 2048, 1, DType::float16).at<float16>(2)), 2050.0F);
  EXPECT_EQ(iota(0, 0, 1, DType::float64).shape(), Shape{0});
  EXPECT_NE(message_of<ValueError>([] { iota(-1, 0, 1, DType::int64); }), "");
  EXPECT_NE(message_of<DTypeError>([] { iota(1, 0, 1, DType::bool_); }), "");
}

}  // namespace
}  // namespace lento::testing

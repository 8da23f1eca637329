// Promotion and the defined results of conversions (clause T3).
#include <lento/dtype.h>
#include <lento/scalar.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lento {
namespace {

constexpr DType all(int i) { return static_cast<DType>(i); }

TEST(Promotion, T3_IsCommutativeIdempotentAndNeverLosesAKind) {
  for (int i = 0; i < kDTypeCount; ++i) {
    EXPECT_EQ(promote(all(i), all(i)), all(i));
    for (int j = 0; j < kDTypeCount; ++j) {
      const DType p = promote(all(i), all(j));
      EXPECT_EQ(p, promote(all(j), all(i)));
      EXPECT_EQ(is_complex(p), is_complex(all(i)) || is_complex(all(j)));
      if (is_floating(all(i)) || is_floating(all(j))) {
        EXPECT_TRUE(is_floating(p) || is_complex(p));
      }
    }
  }
}

TEST(Promotion, T3_IsAssociativeExceptWhereNoIntegerHoldsBothSigns) {
  // uint64 with a signed integer has no common integer type and becomes float64; with a narrower float beside them the
  // grouping then shows. Everything else is associative.
  for (int i = 0; i < kDTypeCount; ++i) {
    for (int j = 0; j < kDTypeCount; ++j) {
      for (int k = 0; k < kDTypeCount; ++k) {
        const bool mixed_integers = [&] {
          int integers = 0;
          bool unsigned64 = false;
          bool is_signed = false;
          for (const int d : {i, j, k}) {
            integers += is_integer(all(d)) ? 1 : 0;
            unsigned64 |= all(d) == DType::uint64;
            is_signed |= is_signed_integer(all(d));
          }
          return integers >= 2 && unsigned64 && is_signed;
        }();
        if (mixed_integers) continue;
        EXPECT_EQ(promote(promote(all(i), all(j)), all(k)), promote(all(i), promote(all(j), all(k))))
            << name(all(i)) << " " << name(all(j)) << " " << name(all(k));
      }
    }
  }
}

TEST(Promotion, T3_TableOfTheArrayApi) {
  EXPECT_EQ(promote(DType::int8, DType::uint8), DType::int16);
  EXPECT_EQ(promote(DType::uint32, DType::int32), DType::int64);
  EXPECT_EQ(promote(DType::uint64, DType::int64), DType::float64);
  EXPECT_EQ(promote(DType::int64, DType::float16), DType::float16);
  EXPECT_EQ(promote(DType::float16, DType::bfloat16), DType::float32);
  EXPECT_EQ(promote(DType::float64, DType::complex64), DType::complex128);
  EXPECT_EQ(promote(DType::float32, DType::complex64), DType::complex64);
  EXPECT_EQ(promote(DType::bool_, DType::uint8), DType::uint8);
}

TEST(DTypes, NamesReadBack) {
  for (int i = 0; i < kDTypeCount; ++i) EXPECT_EQ(dtype_from_name(name(all(i))), all(i));
  EXPECT_FALSE(dtype_from_name("float31").has_value());
}

TEST(Scalars, T3_FloatToIntegerSaturatesAndNanIsZero) {
  EXPECT_EQ(Scalar(1e30).to<std::int32_t>(), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(Scalar(-1e30).to<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(Scalar(9223372036854775807.0).to<std::int64_t>(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(Scalar(-1.0).to<std::uint8_t>(), 0);
  EXPECT_EQ(Scalar(255.9).to<std::uint8_t>(), 255);
  EXPECT_EQ(Scalar(std::nan("")).to<int>(), 0);
  EXPECT_EQ(Scalar(-2.7).to<int>(), -2);
}

TEST(Scalars, ReadWhatTheyWroteInEveryDtype) {
  for (int i = 0; i < kDTypeCount; ++i) {
    alignas(16) std::byte element[16] = {};
    Scalar(1).write(all(i), element);
    EXPECT_EQ(Scalar::read(all(i), element).to<double>(), 1.0) << name(all(i));
  }
  std::uint64_t big = 0;
  Scalar(std::numeric_limits<std::uint64_t>::max()).write(DType::uint64, &big);
  EXPECT_EQ(big, std::numeric_limits<std::uint64_t>::max());
}

TEST(Scalars, PrintAsPythonDoes) {
  EXPECT_EQ(Scalar(true).to_string(), "True");
  EXPECT_EQ(Scalar(3).to_string(), "3");
  EXPECT_EQ(Scalar(1.0).to_string(), "1.0");
  EXPECT_EQ(Scalar(0.1).to_string(), "0.1");
  EXPECT_EQ(Scalar(-std::numeric_limits<double>::infinity()).to_string(), "-inf");
  EXPECT_EQ(Scalar(std::complex<double>(1, -2)).to_string(), "(1.0-2.0j)");
}

}  // namespace
}  // namespace lento

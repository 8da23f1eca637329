// Questions about dtypes and shapes, under their Python names.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace lento {
namespace {

template <class E, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(DTypeInfo, FinfoIsWhatTheStandardLibrarySays) {
  using F = std::numeric_limits<float>;
  using D = std::numeric_limits<double>;
  const FloatInfo f = finfo(DType::float32);
  EXPECT_EQ(f.bits, 32);
  EXPECT_EQ(f.eps, F::epsilon());
  EXPECT_EQ(f.max, F::max());
  EXPECT_EQ(f.min, F::lowest());
  EXPECT_EQ(f.smallest_normal, F::min());
  EXPECT_EQ(f.tiny, f.smallest_normal);
  const FloatInfo d = finfo(DType::float64);
  EXPECT_EQ(d.eps, D::epsilon());
  EXPECT_EQ(d.max, D::max());
  EXPECT_EQ(d.smallest_normal, D::min());
}

TEST(DTypeInfo, FinfoOfHalvesAndOfComplexParts) {
  EXPECT_EQ(finfo(DType::float16).max, 65504.0);
  EXPECT_EQ(finfo(DType::float16).smallest_normal, std::ldexp(1.0, -14));
  EXPECT_EQ(finfo(DType::bfloat16).eps, std::ldexp(1.0, -7));
  EXPECT_EQ(finfo(DType::complex128).dtype, DType::float64);
  EXPECT_EQ(finfo(DType::complex64).eps, finfo(DType::float32).eps);
}

TEST(DTypeInfo, IinfoIsWhatTheStandardLibrarySays) {
  EXPECT_EQ(iinfo(DType::int8).min, -128);
  EXPECT_EQ(iinfo(DType::int8).max, 127U);
  EXPECT_EQ(iinfo(DType::int64).min, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(iinfo(DType::int64).max, std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  EXPECT_EQ(iinfo(DType::uint64).min, 0);
  EXPECT_EQ(iinfo(DType::uint64).max, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(iinfo(DType::uint16).bits, 16);
}

TEST(DTypeInfo, WrongKindsAreErrorsWithTheLine) {
  const std::string finfo_text = message_of<DTypeError>([] { finfo(DType::int32); });
  EXPECT_TRUE(finfo_text.starts_with("finfo: int32 is not a floating-point dtype, at dtype_info_test.cpp:"));
  const std::string iinfo_text = message_of<DTypeError>([] { iinfo(DType::bool_); });
  EXPECT_TRUE(iinfo_text.starts_with("iinfo: bool is not an integer dtype, at dtype_info_test.cpp:"));
}

TEST(DTypeInfo, CanCastIsPromotionToTheTarget) {
  EXPECT_TRUE(can_cast(DType::int8, DType::int16));
  EXPECT_FALSE(can_cast(DType::float32, DType::int32));
  EXPECT_TRUE(can_cast(tensor({1.0F}), DType::float64));
  EXPECT_EQ(promote_types(DType::int32, DType::float16), DType::float16);
}

TEST(DTypeInfo, NumbersAreWeakInResultType) {
  const Tensor half = zeros({2}, DType::float16);
  EXPECT_EQ(result_type(half, 1.5), DType::float16);
  EXPECT_EQ(result_type(half, DType::float64, 1), DType::float64);
  EXPECT_EQ(result_type(1, 2.0), DType::float32);
  EXPECT_EQ(result_type(true), DType::bool_);
  EXPECT_EQ(result_type(DType::float64, std::complex<double>(0, 1)), DType::complex128);
  EXPECT_EQ(result_type(DType::bool_, 3), DType::int64);
  for (const DType a : {DType::int8, DType::uint64, DType::float16, DType::bfloat16, DType::complex64}) {
    for (const DType b : {DType::bool_, DType::int64, DType::float32, DType::complex128}) {
      EXPECT_EQ(result_type(a, b), (zeros({1}, a) + zeros({1}, b)).dtype());
    }
    EXPECT_EQ(result_type(a, 1.5), (zeros({1}, a) + 1.5).dtype());
  }
}

TEST(DTypeInfo, ResultTypeOfNothingIsAnError) {
  EXPECT_NE(message_of<ValueError>([] { result_type(std::vector<DTypeSource>{}); }).find("at least one argument"),
            std::string::npos);
  EXPECT_NE(message_of<ValueError>([] { result_type(Tensor(), 1); }).find("dtype_info_test.cpp"), std::string::npos);
}

TEST(DTypeInfo, IsdtypeTakesKindsDtypesAndLists) {
  EXPECT_TRUE(isdtype(DType::float32, "real floating"));
  EXPECT_TRUE(isdtype(DType::uint8, {"signed integer", "unsigned integer"}));
  EXPECT_TRUE(isdtype(DType::int8, DType::int8));
  EXPECT_TRUE(isdtype(DType::int8, {"bool", DType::int8}));
  EXPECT_FALSE(isdtype(DType::bool_, "numeric"));
  EXPECT_FALSE(isdtype(DType::complex64, {"integral"}));
  const std::string text = message_of<ValueError>([] { isdtype(DType::bool_, "nonsense"); });
  EXPECT_NE(text.find("unknown kind 'nonsense'; there are 'bool', 'signed integer'"), std::string::npos) << text;
  EXPECT_NE(text.find("dtype_info_test.cpp"), std::string::npos) << text;
}

TEST(DTypeInfo, ShapesBroadcast) {
  EXPECT_EQ(broadcast_shapes({2, 1}, {3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast_shapes({{2, 1}, {3}, {4, 1, 1}}), (Shape{4, 2, 3}));
  EXPECT_EQ(broadcast_shapes({0}, {1}), (Shape{0}));
  EXPECT_EQ(broadcast_shapes(std::vector<Shape>{{2}, {}}), (Shape{2}));
  EXPECT_EQ(broadcast_shapes(std::vector<Shape>{}), Shape{});
  EXPECT_NE(message_of<ShapeError>([] { broadcast_shapes({2}, {3}); }).find("dtype_info_test.cpp"), std::string::npos);
  EXPECT_THROW(broadcast_shapes({std::int64_t{1} << 40, 1}, {std::int64_t{1} << 40}), ShapeError);
}

TEST(DTypeInfo, TheConstantsOfTheArrayApi) {
  EXPECT_EQ(std::cos(pi), -1.0);
  EXPECT_EQ(std::log(e), 1.0);
  EXPECT_GT(inf, std::numeric_limits<double>::max());
  EXPECT_TRUE(std::isnan(lento::nan));
}

}  // namespace
}  // namespace lento

// Clause T3 has one judge: recording, the generated functions, the helpers of composites and result_type agree about
// the dtype of a tensor and a number, also where the number does not fit.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ops/composite_helpers.h"
#include "ops/generated_support.h"

namespace lento {
namespace {

constexpr std::uint64_t kTwoTo63 = std::uint64_t{1} << 63;

const std::vector<Scalar> kNumbers = {true,
                                      2,
                                      300,
                                      -1,
                                      std::int64_t{-1} << 40,
                                      std::numeric_limits<std::int64_t>::max(),
                                      std::numeric_limits<std::int64_t>::min(),
                                      kTwoTo63,
                                      std::numeric_limits<std::uint64_t>::max(),
                                      1.5,
                                      1e300,
                                      std::complex<double>(0, 1)};

/// The dtype that `f` gives, or the kind of its error.
template <class F>
std::string outcome(F&& f) {
  try {
    return std::string(name(f()));
  } catch (const OverflowError&) {
    return "OverflowError";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string recorded(const Tensor& x, const Scalar& number) {
  return outcome([&] { return where(ones({2}, DType::bool_), x, number).dtype(); });
}

/// As a generated function converts its operands, and its body makes tensors of them.
std::string generated(const Tensor& x, const Scalar& number) {
  return outcome([&] {
    const DType common = common_dtype(Operand(x), Operand(number));
    return composite::as_tensor(number, common, x.device()).dtype();
  });
}

std::string helped(const Tensor& x, const Scalar& number) {
  return outcome([&] { return promote(x.dtype(), composite::as_tensor_like(number, x).dtype()); });
}

TEST(Promotion, T3_RecordingGeneratedFunctionsAndHelpersAgreeAboutNumbers) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const Tensor x = ones({2}, static_cast<DType>(i));
    for (const Scalar& number : kNumbers) {
      SCOPED_TRACE(std::string(name(x.dtype())) + " beside " + number.to_string());
      const std::string expected = recorded(x, number);
      EXPECT_EQ(generated(x, number), expected);
      EXPECT_EQ(helped(x, number), expected);
      if (expected != "OverflowError") {
        EXPECT_EQ(name(result_type(x, number)), expected);
      }
    }
  }
}

TEST(Promotion, T3_IntegersFromTwoTo63OnFitUint64AndWhatIsNoInteger) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const bool refused = is_bool(dtype) || (is_integer(dtype) && dtype != DType::uint64);
    EXPECT_EQ(recorded(ones({2}, dtype), kTwoTo63), refused ? "OverflowError" : name(dtype));
  }
}

TEST(Promotion, T3_OrderDoesNotMatter) {
  const Tensor half = ones({2}, DType::float16);
  EXPECT_EQ(common_dtype(Scalar(1.5), half, Scalar(2)), DType::float16);
  EXPECT_EQ(common_dtype(Scalar(std::complex<double>(0, 1)), Scalar(true), half), DType::complex64);
  EXPECT_EQ(common_dtype(Scalar(2), Scalar(1.5), ones({2}, DType::bool_)), DType::float32);
  EXPECT_EQ(common_dtype(Scalar(-1), Scalar(kTwoTo63)), promote(DType::int64, DType::uint64));
  EXPECT_EQ(common_dtype(std::vector<Tensor>{}), kDefaultFloat);
}

}  // namespace
}  // namespace lento

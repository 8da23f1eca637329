// The options of the value printer and the dtypes NumPy lacks. Everything else is compared with NumPy itself, character
// by character, in tests/python/test_print.py; the expected texts here are NumPy's too.
#include <lento/print.h>

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace lento {
namespace {

template <class T>
std::string format(const std::vector<T>& values, const Shape& shape, const PrintOptions& options = {}) {
  return format_array(values.data(), dtype_of<T>(), shape, options);
}

std::vector<std::int64_t> counting(std::size_t count) {
  std::vector<std::int64_t> values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(PrintValues, Precision) {
  const std::vector<double> values{0.00012345, 123.456, 1e-3, -7};
  EXPECT_EQ(format(values, {2, 2}, {.precision = 3}),
            "[[ 1.234e-04  1.235e+02]\n"
            " [ 1.000e-03 -7.000e+00]]");
  EXPECT_EQ(format(values, {2, 2}, {.precision = 3, .suppress = true}),
            "[[  0.    123.456]\n"
            " [  0.001  -7.   ]]");
}

TEST(PrintValues, LineWidth) {
  EXPECT_EQ(format(counting(30), {30}, {.linewidth = 30}),
            "[ 0  1  2  3  4  5  6  7  8\n"
            "  9 10 11 12 13 14 15 16 17\n"
            " 18 19 20 21 22 23 24 25 26\n"
            " 27 28 29]");
}

TEST(PrintValues, ThresholdAndEdges) {
  EXPECT_EQ(format(counting(30), {30}, {.threshold = 5, .edgeitems = 2, .separator = ", ", .prefix_width = 2}),
            "[ 0,  1, ..., 28, 29]");
  EXPECT_EQ(format(counting(36), {6, 6}, {.threshold = 5, .edgeitems = 1}),
            "[[ 0 ...  5]\n"
            " ...\n"
            " [30 ... 35]]");
}

TEST(PrintValues, Bfloat16) {
  std::vector<bfloat16> values;
  for (const double value : {1.0, 0.1, -2.5, HUGE_VAL}) values.emplace_back(value);
  EXPECT_EQ(array_repr(values.data(), DType::bfloat16, {4}), "tensor([ 1. ,  0.1, -2.5,  inf], dtype=bfloat16)");
  EXPECT_EQ(array_str(values.data() + 1, DType::bfloat16, {}), "0.1");
}

TEST(PrintValues, EveryHalfIsShownByDigitsThatReadBack) {
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const auto half = float16::from_bits(static_cast<std::uint16_t>(bits));
    const std::string text = array_str(&half, DType::float16, {});
    ASSERT_EQ(float16(std::stod(text)).bits, bits) << text;
  }
  for (std::uint32_t bits = 0; bits < 0x7f80; ++bits) {
    const auto half = bfloat16::from_bits(static_cast<std::uint16_t>(bits));
    const std::string text = array_str(&half, DType::bfloat16, {});
    ASSERT_EQ(bfloat16(std::stod(text)).bits, bits) << text;
  }
}

TEST(PrintValues, NothingAndOne) {
  EXPECT_EQ(format<float>({}, {0, 3}), "[]");
  EXPECT_EQ(array_repr(nullptr, DType::float32, {0, 3}), "tensor([], shape=(0, 3), dtype=float32)");
  const bool yes = true;
  EXPECT_EQ(array_repr(&yes, DType::bool_, {}), "tensor(True)");
  EXPECT_EQ(array_repr(&yes, DType::bool_, {1}), "tensor([ True])");
}

}  // namespace
}  // namespace lento

// Reductions and scans: their order, special values, wrapping, empty operands.
#include "backends/reference/arithmetic.h"
#include "ir/attrs_reduction.gen.h"
#include "ir/attrs_scan.gen.h"
#include "ir/infer_reduction.gen.h"
#include "ir/infer_scan.gen.h"
#include "reference/kernels_reduction.gen.h"
#include "reference/kernels_scan.gen.h"
#include "reference/owned.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace lento::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// An implementation of the order of reductions that shares nothing with reduction_order.h: top down and recursive
// where that one is bottom up. Each function combines the elements `values[i]` of a list.

using Numbers = std::vector<float>;
using Combine = std::function<float(float, float)>;

Numbers every(const Numbers& values, std::size_t from, std::size_t step) {
  Numbers result;
  for (std::size_t i = from; i < values.size(); i += step) result.push_back(values[i]);
  return result;
}

/// Lanes from … from + 2^k - 1, or rather those of them that have an element: the upper half is folded onto the lower.
float fold_lanes(Numbers lanes, const Combine& combine) {
  if (lanes.size() == 1) return lanes[0];
  const std::size_t half = std::bit_ceil(lanes.size()) / 2;
  Numbers folded(lanes.begin(), lanes.begin() + static_cast<std::ptrdiff_t>(half));
  for (std::size_t i = half; i < lanes.size(); ++i) folded[i - half] = combine(folded[i - half], lanes[i]);
  return fold_lanes(folded, combine);
}

float reduce_block(const Numbers& block, const Combine& combine) {
  Numbers lanes;
  for (std::size_t lane = 0; lane < 64 && lane < block.size(); ++lane) {
    const Numbers mine = every(block, lane, 64);
    float total = mine[0];
    for (std::size_t i = 1; i < mine.size(); ++i) total = combine(total, mine[i]);
    lanes.push_back(total);
  }
  return fold_lanes(lanes, combine);
}

/// The tree over blocks from the top: the left subtree has the largest power of two of blocks that leaves some over.
float reduce_tree(const Numbers& values, const Combine& combine) {
  if (values.size() <= 4096) return reduce_block(values, combine);
  const std::size_t blocks = (values.size() + 4095) / 4096;
  const auto split = static_cast<std::ptrdiff_t>(std::bit_ceil(blocks) / 2 * 4096);
  return combine(reduce_tree(Numbers(values.begin(), values.begin() + split), combine),
                 reduce_tree(Numbers(values.begin() + split, values.end()), combine));
}

Numbers random_numbers(std::size_t count, float spread) {
  std::mt19937 engine(static_cast<unsigned>(count));
  std::uniform_real_distribution<float> fraction(0.5F, 1.5F);
  std::uniform_real_distribution<float> exponent(-spread, spread);
  Numbers values(count);
  for (float& value : values)
    value = std::exp2(exponent(engine)) * fraction(engine) * (engine() % 2 == 0 ? 1.0F : -1.0F);
  return values;
}

constexpr std::size_t kCounts[] = {1,    2,    3,     31,    32,    33,    63,    64,    65,
                                   100,  127,  128,   1000,  4095,  4096,  4097,  4100,  8191,
                                   8192, 8193, 12288, 12289, 20497, 28673, 32768, 32769, 50000};

Owned sum(const Owned& x, const Ints& axes, bool keepdims = false) {
  return run(infer_reduce_sum, reference::reduce_sum, x, ReduceSumAttrs{axes, keepdims});
}
Owned prod(const Owned& x, const Ints& axes) {
  return run(infer_reduce_prod, reference::reduce_prod, x, ReduceProdAttrs{axes, false});
}
Owned max(const Owned& x, const Ints& axes) {
  return run(infer_reduce_max, reference::reduce_max, x, ReduceMaxAttrs{axes, false});
}
Owned min(const Owned& x, const Ints& axes) {
  return run(infer_reduce_min, reference::reduce_min, x, ReduceMinAttrs{axes, false});
}
Owned any(const Owned& x, const Ints& axes) {
  return run(infer_reduce_any, reference::reduce_any, x, ReduceAnyAttrs{axes, false});
}
Owned all(const Owned& x, const Ints& axes) {
  return run(infer_reduce_all, reference::reduce_all, x, ReduceAllAttrs{axes, false});
}
Owned arg_max(const Owned& x, std::int64_t axis) {
  return run(infer_arg_max, reference::arg_max, x, ArgMaxAttrs{axis, false});
}
Owned arg_min(const Owned& x, std::int64_t axis) {
  return run(infer_arg_min, reference::arg_min, x, ArgMinAttrs{axis, false});
}

TEST(ReductionOrder, SumHasTheBitsOfTheSpecifiedOrder) {
  for (const std::size_t count : kCounts) {
    const Numbers values = random_numbers(count, 20);
    const float expected = reduce_tree(values, [](float a, float b) { return a + b; });
    EXPECT_EQ(std::bit_cast<std::uint32_t>(sum(Owned(values), {0}).at<float>(0)),
              std::bit_cast<std::uint32_t>(expected))
        << count;
  }
}

TEST(ReductionOrder, ProductHasTheBitsOfTheSpecifiedOrder) {
  for (const std::size_t count : kCounts) {
    Numbers values = random_numbers(count, 0);
    for (float& value : values) value = 1 + (value - 1) / 1024;
    const float expected = reduce_tree(values, [](float a, float b) { return a * b; });
    EXPECT_EQ(prod(Owned(values), {0}).at<float>(0), expected) << count;
  }
}

TEST(ReductionOrder, DiffersFromLeftToRightSoThatTheTestsMeanSomething) {
  const Numbers values = random_numbers(5000, 20);
  float naive = 0;
  for (const float value : values) naive += value;
  EXPECT_NE(sum(Owned(values), {0}).at<float>(0), naive);
}

TEST(ReductionOrder, HalfTypesAccumulateInFloatAndRoundOnce) {
  for (const std::size_t count : kCounts) {
    const Numbers values = random_numbers(count, 3);
    std::vector<float16> halves;
    std::vector<bfloat16> brains;
    for (const float value : values) {
      halves.emplace_back(value);
      brains.emplace_back(value);
    }
    const auto widened = [](const auto& list) {
      Numbers result;
      for (const auto each : list) result.push_back(static_cast<float>(each));
      return result;
    };
    const Combine add = [](float a, float b) { return a + b; };
    EXPECT_EQ(sum(Owned(halves), {0}).at<float16>(0).bits, float16(reduce_tree(widened(halves), add)).bits);
    EXPECT_EQ(sum(Owned(brains), {0}).at<bfloat16>(0).bits, bfloat16(reduce_tree(widened(brains), add)).bits);
  }
}

TEST(ReductionOrder, ComplexSumsWorkByComponent) {
  const Numbers real = random_numbers(9000, 10);
  Numbers imag = real;
  std::reverse(imag.begin(), imag.end());
  std::vector<std::complex<float>> values;
  for (std::size_t i = 0; i < real.size(); ++i) values.emplace_back(real[i], imag[i]);
  const Combine add = [](float a, float b) { return a + b; };
  const auto total = sum(Owned(values), {0}).at<std::complex<float>>(0);
  EXPECT_EQ(total.real(), reduce_tree(real, add));
  EXPECT_EQ(total.imag(), reduce_tree(imag, add));
}

TEST(ReductionOrder, ElementsAreNumberedInRowMajorOrderOfTheReducedAxes) {
  // Reducing axes 0 and 2 of (3, 5, 40): element (i, k) has number 40 i + k, whatever the middle axis.
  const Numbers values = random_numbers(3 * 5 * 40, 20);
  const Owned x(Shape{3, 5, 40}, values);
  const std::vector<float> result = sum(x, {2, 0}).values<float>();
  ASSERT_EQ(result.size(), 5U);
  for (std::size_t j = 0; j < 5; ++j) {
    Numbers mine;
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < 40; ++k) mine.push_back(values[(i * 5 + j) * 40 + k]);
    }
    EXPECT_EQ(result[j], reduce_tree(mine, [](float a, float b) { return a + b; }));
  }
}

TEST(ReductionOrder, DoesNotDependOnTheOtherAxesOrKeepdims) {
  const Numbers column = random_numbers(5000, 20);
  Numbers matrix;
  for (const float value : column) matrix.insert(matrix.end(), {value, 1.0F, -value});
  const auto alone = sum(Owned(column), {0}).values<float>();
  const Owned together = sum(Owned(Shape{5000, 3}, matrix), {0}, true);
  EXPECT_EQ(together.shape(), (Shape{1, 3}));
  EXPECT_EQ(together.at<float>(0), alone[0]);
  EXPECT_EQ(together.at<float>(2), -alone[0]);
}

TEST(Reduction, SumOfNothingIsZeroAndProductOne) {
  dispatch_all([]<class T>() {
    const Owned empty(Shape{2, 0}, std::vector<T>{});
    const Owned sums = sum(empty, {1});
    EXPECT_EQ(sums.shape(), Shape{2});
    EXPECT_FALSE(reference::is_nonzero(sums.at<T>(1)));
    EXPECT_EQ(reference::widen(prod(empty, {1}).at<T>(0)), reference::ComputeType<T>(1));
    EXPECT_EQ(sum(empty, {0}).shape(), Shape{0});
  });
  EXPECT_FALSE(std::signbit(sum(Owned(std::vector<double>{}), {0}).at<double>(0)));
}

TEST(Reduction, NegativeZeroSurvivesASum) {
  EXPECT_TRUE(std::signbit(sum(Owned(std::vector<float>{-0.0F, -0.0F}), {0}).at<float>(0)));
  EXPECT_TRUE(std::signbit(sum(Owned(std::vector<float>(5000, -0.0F)), {0}).at<float>(0)));
  EXPECT_FALSE(std::signbit(sum(Owned(std::vector<float>{-0.0F, 0.0F}), {0}).at<float>(0)));
}

TEST(Reduction, WithoutAxesKeepsEveryElement) {
  const Owned x(Shape{2, 2}, std::vector<float>{1, -0.0F, 3, 4});
  const Owned same = sum(x, {});
  EXPECT_EQ(same.shape(), (Shape{2, 2}));
  EXPECT_EQ(same.values<float>(), x.values<float>());
  EXPECT_TRUE(std::signbit(same.at<float>(1)));
}

TEST(Reduction, OverEverySetOfAxes) {
  const Shape shape = {2, 3, 4, 5};
  const Owned x = counting<std::int64_t>(shape);
  for (unsigned set = 0; set < 16; ++set) {
    Ints axes;
    Shape kept = shape;
    for (std::size_t axis = 0; axis < 4; ++axis) {
      if ((set >> axis) % 2 == 0) continue;
      axes.push_back(static_cast<std::int64_t>(axis));
      kept[axis] = 1;
    }
    std::vector<std::int64_t> expected(static_cast<std::size_t>(element_count(kept)), 0);
    reference::for_each_offset(shape, reference::broadcast_strides(kept, shape), [&](std::int64_t i, std::int64_t at) {
      expected[static_cast<std::size_t>(at)] += x.at<std::int64_t>(i);
    });
    const Owned result = sum(x, axes, true);
    EXPECT_EQ(result.shape(), kept);
    EXPECT_EQ(result.values<std::int64_t>(), expected);
  }
}

TEST(Reduction, OfAZeroDimensionalTensor) {
  const Owned x(Shape{}, std::vector<std::int32_t>{7});
  EXPECT_EQ(sum(x, {}).values<std::int32_t>(), std::vector<std::int32_t>{7});
  EXPECT_EQ(max(x, {}).shape(), Shape{});
}

TEST(Reduction, IntegersWrap) {
  EXPECT_EQ(sum(Owned(std::vector<std::int8_t>{127, 1}), {0}).at<std::int8_t>(0), -128);
  EXPECT_EQ(sum(Owned(std::vector<std::uint8_t>{200, 100}), {0}).at<std::uint8_t>(0), 44);
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(sum(Owned(std::vector<std::int64_t>{kMax, 1}), {0}).at<std::int64_t>(0),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(prod(Owned(std::vector<std::uint16_t>{65535, 65535}), {0}).at<std::uint16_t>(0), 1);
  EXPECT_EQ(prod(Owned(std::vector<std::int64_t>{kMax, kMax}), {0}).at<std::int64_t>(0), 1);
}

TEST(Reduction, MaxAndMinPropagateNanFromAnywhere) {
  for (std::size_t at : {0, 1, 70, 4999}) {
    std::vector<double> values(5000, 1.0);
    values[at] = kNan;
    EXPECT_TRUE(std::isnan(max(Owned(values), {0}).at<double>(0))) << at;
    EXPECT_TRUE(std::isnan(min(Owned(values), {0}).at<double>(0))) << at;
    EXPECT_EQ(arg_max(Owned(values), 0).at<std::int64_t>(0), static_cast<std::int64_t>(at));
    EXPECT_EQ(arg_min(Owned(values), 0).at<std::int64_t>(0), static_cast<std::int64_t>(at));
  }
  EXPECT_EQ(max(Owned(std::vector<double>{-kInf, -kInf}), {0}).at<double>(0), -kInf);
  EXPECT_EQ(min(Owned(std::vector<double>{kInf, 3}), {0}).at<double>(0), 3);
}

TEST(Reduction, MaxPrefersPositiveZeroAndMinNegative) {
  for (const auto& values : {std::vector<float>{-0.0F, 0.0F}, std::vector<float>{0.0F, -0.0F}}) {
    EXPECT_FALSE(std::signbit(max(Owned(values), {0}).at<float>(0)));
    EXPECT_TRUE(std::signbit(min(Owned(values), {0}).at<float>(0)));
  }
}

TEST(Reduction, MaxOfEveryRealType) {
  dispatch_all([]<class T>() {
    if constexpr (!reference::Complex<T>) {
      const Owned x(Shape{2, 3}, std::vector<T>{T(1), T(0), T(1), T(0), T(0), T(1)});
      EXPECT_EQ(reference::widen(max(x, {0}).at<T>(1)), reference::ComputeType<T>(0));
      EXPECT_EQ(reference::widen(max(x, {1}).at<T>(1)), reference::ComputeType<T>(1));
      EXPECT_EQ(reference::widen(min(x, {0, 1}).at<T>(0)), reference::ComputeType<T>(0));
      EXPECT_EQ(arg_max(x, 1).values<std::int64_t>(), (std::vector<std::int64_t>{0, 2}));
      EXPECT_EQ(arg_min(x, 1).values<std::int64_t>(), (std::vector<std::int64_t>{1, 0}));
    }
  });
}

TEST(Reduction, ArgMaxTakesTheFirstOfEquals) {
  EXPECT_EQ(arg_max(Owned(std::vector<float>{-0.0F, 0.0F, 0.0F}), 0).at<std::int64_t>(0), 0);
  EXPECT_EQ(arg_max(Owned(std::vector<float>{1, 3, 3, 2}), -1).at<std::int64_t>(0), 1);
  EXPECT_EQ(arg_min(Owned(std::vector<float>{1, 0, 3, 0}), 0).at<std::int64_t>(0), 1);
  EXPECT_EQ(arg_max(Owned(std::vector<double>{1, kNan, kInf, kNan}), 0).at<std::int64_t>(0), 1);
}

TEST(Reduction, AnyAndAllTakeEveryDtypeAndCountNanAsTrue) {
  dispatch_all([]<class T>() {
    const Owned x(Shape{2, 2}, std::vector<T>{T(0), T(1), T(0), T(0)});
    EXPECT_EQ(any(x, {1}).values<bool>(), (std::vector<bool>{true, false}));
    EXPECT_EQ(all(x, {0}).values<bool>(), (std::vector<bool>{false, false}));
    const Owned empty(Shape{0}, std::vector<T>{});
    EXPECT_FALSE(any(empty, {0}).at<bool>(0));
    EXPECT_TRUE(all(empty, {0}).at<bool>(0));
  });
  EXPECT_TRUE(all(Owned(std::vector<double>{kNan, 1}), {0}).at<bool>(0));
  EXPECT_FALSE(any(Owned(std::vector<double>{-0.0, 0.0}), {0}).at<bool>(0));
  using C = std::complex<float>;
  EXPECT_TRUE(all(Owned(std::vector<C>{{0, 1}, {1, 0}}), {0}).at<bool>(0));
}

TEST(Reduction, T2_ErrorsNameTheRuleAndTheShape) {
  const Owned empty(Shape{0, 3}, std::vector<float>{});
  EXPECT_EQ(message_of<ValueError>([&] { max(empty, {0}); }),
            "axis 0 of float32(0, 3) is empty: there is no largest element");
  EXPECT_EQ(message_of<ValueError>([&] { arg_min(empty, 0); }),
            "axis 0 of float32(0, 3) is empty: there is no smallest element");
  EXPECT_EQ(max(empty, {1}).shape(), Shape{0});  // no result, so nothing is missing
  EXPECT_EQ(message_of<IndexError>([&] { sum(empty, {2}); }),
            "axis 2 is out of range for float32(0, 3): it must be from -2 to 1");
  EXPECT_EQ(message_of<ValueError>([&] { sum(empty, {1, -1}); }), "axis 1 is given twice in (1, -1)");
  EXPECT_EQ(message_of<IndexError>([&] { arg_max(Owned(Shape{}, std::vector<float>{1}), 0); }),
            "axis 0 is out of range: float32() has no axes");
}

TEST(Scan, RunsFromLeftToRightAlongTheAxis) {
  const Owned x(Shape{2, 3}, std::vector<std::int32_t>{1, 2, 3, 4, 5, 6});
  const auto scan_sum = [&](std::int64_t axis) {
    return run(infer_scan_sum, reference::scan_sum, x, ScanSumAttrs{axis}).values<std::int32_t>();
  };
  EXPECT_EQ(scan_sum(0), (std::vector<std::int32_t>{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(scan_sum(-1), (std::vector<std::int32_t>{1, 3, 6, 4, 9, 15}));
  const Numbers values = random_numbers(300, 20);
  const auto result = run(infer_scan_sum, reference::scan_sum, Owned(values), ScanSumAttrs{0}).values<float>();
  float running = values[0];
  for (std::size_t i = 1; i < values.size(); ++i) {
    running += values[i];
    EXPECT_EQ(result[i], running);
  }
}

TEST(Scan, SpecialValues) {
  const Owned x(std::vector<double>{-0.0, 1, kNan, 2});
  const auto sums = run(infer_scan_sum, reference::scan_sum, x, ScanSumAttrs{0}).values<double>();
  EXPECT_TRUE(std::signbit(sums[0]));
  EXPECT_TRUE(std::isnan(sums[3]));
  const auto largest = run(infer_scan_max, reference::scan_max, x, ScanMaxAttrs{0}).values<double>();
  EXPECT_EQ(largest[1], 1);
  EXPECT_TRUE(std::isnan(largest[2]) && std::isnan(largest[3]));
  const auto smallest = run(infer_scan_min, reference::scan_min, x, ScanMinAttrs{0}).values<double>();
  EXPECT_TRUE(std::signbit(smallest[1]));
  EXPECT_TRUE(std::isnan(smallest[3]));
  const auto wrapped =
      run(infer_scan_prod, reference::scan_prod, Owned(std::vector<std::int8_t>{16, 16, 1}), ScanProdAttrs{0});
  EXPECT_EQ(wrapped.values<std::int8_t>(), (std::vector<std::int8_t>{16, 0, 0}));
}

TEST(Scan, HalfTypesAccumulateInFloat) {
  // In float16, 2048 + 1 is 2048: only a wider accumulator gets to 2050 at the end.
  const std::vector<float16> values = {float16(2048), float16(1), float16(1)};
  const auto sums = run(infer_scan_sum, reference::scan_sum, Owned(values), ScanSumAttrs{0}).values<float16>();
  EXPECT_EQ(static_cast<float>(sums[1]), 2048);
  EXPECT_EQ(static_cast<float>(sums[2]), 2050);
}

TEST(Scan, EmptyAndEveryDtype) {
  dispatch_all([]<class T>() {
    const Owned empty(Shape{0, 2}, std::vector<T>{});
    EXPECT_EQ(run(infer_scan_sum, reference::scan_sum, empty, ScanSumAttrs{0}).shape(), (Shape{0, 2}));
    const Owned x(std::vector<T>{T(1), T(0), T(1)});
    const Owned result = run(infer_scan_prod, reference::scan_prod, x, ScanProdAttrs{0});
    EXPECT_EQ(reference::widen(result.at<T>(0)), reference::ComputeType<T>(1));
    EXPECT_EQ(reference::widen(result.at<T>(2)), reference::ComputeType<T>(0));
  });
}

}  // namespace
}  // namespace lento::testing

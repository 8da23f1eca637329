// Sliding windows: maxima with their positions, and sums.
#include "ir/attrs_contraction.gen.h"
#include "ir/attrs_window.gen.h"
#include "ir/infer_contraction.gen.h"
#include "ir/infer_window.gen.h"
#include "reference/kernels_contraction.gen.h"
#include "reference/kernels_window.gen.h"
#include "reference/owned.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lento::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Maxima {
  Owned values, indices;
};

Maxima max_window(const Owned& x, MaxWindowAttrs attrs) {
  const std::array<Meta, 2> metas = infer_max_window(x.meta(), attrs);
  Maxima result{Owned(metas[0]), Owned(metas[1])};
  reference::max_window(result.values.array(), result.indices.array(), x.array(), attrs);
  return result;
}

Owned sum_window(const Owned& x, SumWindowAttrs attrs) {
  return run(infer_sum_window, reference::sum_window, x, attrs);
}

using Floats = std::vector<float>;
using Positions = std::vector<std::int64_t>;

TEST(MaxWindow, PaddingNeverWinsAndTheFirstOfEqualsDoes) {
  const Maxima m = max_window(Owned({1, 1, 5}, Floats{-3, -1, -1, -5, -4}), {{3}, {2}, {1}, {1}, {1}});
  EXPECT_EQ(m.values.values<float>(), (Floats{-1, -1, -4}));
  EXPECT_EQ(m.indices.values<std::int64_t>(), (Positions{1, 1, 4}));
}

TEST(MaxWindow, TheFirstNanWins) {
  const Maxima m = max_window(Owned({1, 1, 4}, Floats{kInf, kNan, 1, kNan}), {{4}, {1}, {0}, {0}, {1}});
  EXPECT_TRUE(std::isnan(m.values.at<float>(0)));
  EXPECT_EQ(m.indices.at<std::int64_t>(0), 1);
}

TEST(MaxWindow, PositionsAreFlatInTheSpatialAxesOfTheirPlane) {
  // Two planes of 3 x 4; the largest of each 2 x 2 window is its last element, or its first in the second plane.
  std::vector<std::int32_t> values;
  for (std::int32_t i = 0; i < 12; ++i) values.push_back(i);
  for (std::int32_t i = 0; i < 12; ++i) values.push_back(-i);
  const Maxima m = max_window(Owned({1, 2, 3, 4}, values), {{2, 2}, {1, 2}, {0, 0}, {0, 0}, {1, 1}});
  EXPECT_EQ(m.values.shape(), (Shape{1, 2, 2, 2}));
  EXPECT_EQ(m.indices.values<std::int64_t>(), (Positions{5, 7, 9, 11, 0, 2, 4, 6}));
  EXPECT_EQ(m.values.values<std::int32_t>(), (std::vector<std::int32_t>{5, 7, 9, 11, 0, -2, -4, -6}));
}

TEST(MaxWindow, AWindowOfPaddingOnlyHasTheLowestValueAndNoPosition) {
  const Maxima m = max_window(Owned({1, 1, 1}, Floats{7}), {{2}, {1}, {1}, {1}, {2}});  // reads -1 and 1 of one element
  EXPECT_EQ(m.values.values<float>(), (Floats{-kInf}));
  EXPECT_EQ(m.indices.values<std::int64_t>(), (Positions{-1}));
  const Maxima whole = max_window(Owned({1, 1, 1}, std::vector<std::int8_t>{7}), {{2}, {1}, {1}, {1}, {2}});
  EXPECT_EQ(whole.values.at<std::int8_t>(0), -128);
}

TEST(MaxWindow, DilationSkipsElements) {
  const Maxima m = max_window(Owned({1, 1, 5}, Floats{1, 9, 2, 8, 3}), {{2}, {1}, {0}, {0}, {2}});
  EXPECT_EQ(m.values.values<float>(), (Floats{2, 9, 3}));
}

TEST(SumWindow, PaddingCountsAsZero) {
  EXPECT_EQ(sum_window(Owned({1, 1, 4}, Floats{1, 2, 3, 4}), {{3}, {1}, {1}, {1}, {1}}).values<float>(),
            (Floats{3, 6, 9, 7}));
}

TEST(SumWindow, EveryNumericDtype) {
  dispatch_all([]<class T>() {
    if constexpr (!std::same_as<T, bool>) {
      const Owned out = sum_window(counting<T>({1, 1, 2, 3}), {{2, 2}, {1, 1}, {0, 0}, {0, 0}, {1, 1}});
      const Owned expected({1, 1, 1, 2}, std::vector<T>{T(8), T(12)});
      EXPECT_EQ(std::memcmp(out.array().data(), expected.array().data(), 2 * sizeof(T)), 0);
    }
  });
}

TEST(SumWindow, IsTheConvolutionWithOnes) {
  const Owned x = counting<double>({2, 1, 6, 5});
  const Owned ones({1, 1, 3, 2}, std::vector<double>(6, 1.0));
  const Owned expected =
      run(infer_convolution, reference::convolution, x, ones, ConvolutionAttrs{{2, 1}, {1, 2}, {0, 1}, {1, 2}, 1});
  EXPECT_EQ(sum_window(x, {{3, 2}, {2, 1}, {1, 2}, {0, 1}, {1, 2}}).values<double>(), expected.values<double>());
}

TEST(Windows, T2_Errors) {
  EXPECT_NE(message_of<ShapeError>([] { sum_window(counting<float>({2, 3}), {{}, {}, {}, {}, {}}); }), "");
  EXPECT_NE(message_of<ShapeError>([] { sum_window(counting<float>({1, 1, 3}), {{4}, {1}, {0}, {0}, {1}}); }), "");
  EXPECT_NE(message_of<ValueError>([] { sum_window(counting<float>({1, 1, 3}), {{2, 2}, {1}, {0}, {0}, {1}}); }), "");
  EXPECT_NE(
      message_of<DTypeError>([] { max_window(counting<std::complex<float>>({1, 1, 3}), {{2}, {1}, {0}, {0}, {1}}); }),
      "");
}

}  // namespace
}  // namespace lento::testing

// Sorting and searching: order of special values, stability, every dtype.
#include "backends/reference/arithmetic.h"
#include "ir/attrs_sort.gen.h"
#include "ir/infer_sort.gen.h"
#include "reference/kernels_sort.gen.h"
#include "reference/owned.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <utility>

namespace lento::testing {
namespace {

using Int64s = std::vector<std::int64_t>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Owned sorted(const Owned& x, std::int64_t axis, bool descending = false) {
  return run(infer_sort_values, reference::sort_values, x, SortValuesAttrs{axis, descending});
}
Owned order(const Owned& x, std::int64_t axis, bool descending = false) {
  return run(infer_sort_indices, reference::sort_indices, x, SortIndicesAttrs{axis, descending});
}
std::pair<Owned, Owned> top_k(const Owned& x, std::int64_t k, std::int64_t axis, bool largest) {
  TopKAttrs attrs{k, axis, largest};
  const std::array<Meta, 2> meta = infer_top_k(x.meta(), attrs);
  const Owned values(meta[0]), indices(meta[1]);
  reference::top_k(values.array(), indices.array(), x.array(), attrs);
  return {values, indices};
}
Int64s search(const Owned& in, const Owned& values, bool right) {
  return run(infer_search_sorted, reference::search_sorted, in, values, SearchSortedAttrs{right})
      .values<std::int64_t>();
}
Int64s nonzero(const Owned& x, std::int64_t size) {
  return run(infer_flat_nonzero, reference::flat_nonzero, x, FlatNonzeroAttrs{size}).values<std::int64_t>();
}

TEST(Sort, NanComesLastAndFirstWhenDescending) {
  const Owned x(std::vector<double>{kNan, 1, -kInf, kNan, kInf, -1});
  const auto up = sorted(x, 0).values<double>();
  EXPECT_EQ(std::vector<double>(up.begin(), up.begin() + 4), (std::vector<double>{-kInf, -1, 1, kInf}));
  EXPECT_TRUE(std::isnan(up[4]) && std::isnan(up[5]));
  EXPECT_EQ(order(x, 0).values<std::int64_t>(), (Int64s{2, 5, 1, 4, 0, 3}));
  EXPECT_EQ(order(x, 0, true).values<std::int64_t>(), (Int64s{0, 3, 4, 1, 5, 2}));
}

TEST(Sort, IsStableInBothDirectionsAndTakesZerosAsEqual) {
  const Owned x(std::vector<float>{2, 0.0F, 1, -0.0F, 2, 1});
  EXPECT_EQ(order(x, 0).values<std::int64_t>(), (Int64s{1, 3, 2, 5, 0, 4}));
  EXPECT_EQ(order(x, 0, true).values<std::int64_t>(), (Int64s{0, 4, 2, 5, 1, 3}));
  const auto values = sorted(x, 0).values<float>();
  EXPECT_FALSE(std::signbit(values[0]));
  EXPECT_TRUE(std::signbit(values[1]));
}

TEST(Sort, MatchesASortOfValueAndPosition) {
  std::mt19937 engine(5);
  for (const std::size_t count : {0U, 1U, 2U, 17U, 1000U}) {
    std::vector<std::int32_t> values(count);
    for (auto& value : values) value = static_cast<std::int32_t>(engine() % 50);
    for (const bool descending : {false, true}) {
      std::vector<std::pair<std::int32_t, std::int64_t>> pairs;
      for (const std::int32_t value : values) {
        pairs.emplace_back(descending ? -value : value, static_cast<std::int64_t>(pairs.size()));
      }
      std::sort(pairs.begin(), pairs.end());
      Int64s expected;
      for (const auto& pair : pairs) expected.push_back(pair.second);
      EXPECT_EQ(order(Owned(values), 0, descending).values<std::int64_t>(), expected);
    }
  }
}

TEST(Sort, ComplexNumbersAreOrderedAsNumPyOrdersThem) {
  using C = std::complex<double>;
  // In order: by real, then imaginary part; then nan in the imaginary part, in the real part, in both.
  const std::vector<C> ordered = {{-kInf, 3}, {0, -1},   {0, 2},     {1, -5},   {kInf, 0},
                                  {-1, kNan}, {2, kNan}, {kNan, -1}, {kNan, 4}, {kNan, kNan}};
  std::vector<C> shuffled = ordered;
  std::mt19937 engine(9);
  for (int round = 0; round < 50; ++round) {
    std::shuffle(shuffled.begin(), shuffled.end(), engine);
    for (const bool descending : {false, true}) {
      const auto result = sorted(Owned(shuffled), 0, descending).values<C>();
      for (std::size_t i = 0; i < ordered.size(); ++i) {
        const C wanted = ordered[descending ? ordered.size() - 1 - i : i];
        EXPECT_EQ(std::memcmp(&result[i], &wanted, sizeof(C)), 0) << i;
      }
    }
  }
}

TEST(Sort, AlongAnyAxis) {
  const Owned x(Shape{2, 3}, Int64s{5, 1, 3, 2, 4, 0});
  EXPECT_EQ(sorted(x, 0).values<std::int64_t>(), (Int64s{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(sorted(x, -1).values<std::int64_t>(), (Int64s{1, 3, 5, 0, 2, 4}));
  EXPECT_EQ(order(x, 0).values<std::int64_t>(), (Int64s{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(sorted(counting<float>({0, 3}), 0).shape(), (Shape{0, 3}));
  EXPECT_EQ(sorted(counting<float>({3, 0}), 0).shape(), (Shape{3, 0}));
  EXPECT_NE(message_of<IndexError>([] { sorted(counting<float>({}), 0); }), "");
}

TEST(Sort, EveryDtype) {
  dispatch_all([]<class T>() {
    const Owned x(std::vector<T>{T(1), T(0), T(1), T(0)});
    EXPECT_EQ(order(x, 0).values<std::int64_t>(), (Int64s{1, 3, 0, 2}));
    EXPECT_EQ(reference::widen(sorted(x, 0, true).at<T>(1)), reference::ComputeType<T>(1));
  });
  EXPECT_EQ(order(Owned(std::vector<std::uint64_t>{~std::uint64_t{0}, 1}), 0).at<std::int64_t>(0), 1);
}

TEST(TopK, TiesGoToTheLowerPositionAndNanIsLargest) {
  const Owned x(std::vector<double>{1, 3, kNan, 3, 2});
  const auto [values, indices] = top_k(x, 3, 0, true);
  EXPECT_EQ(indices.values<std::int64_t>(), (Int64s{2, 1, 3}));
  EXPECT_TRUE(std::isnan(values.at<double>(0)));
  EXPECT_EQ(values.at<double>(2), 3);
  EXPECT_EQ(top_k(x, 5, 0, false).second.values<std::int64_t>(), (Int64s{0, 4, 1, 3, 2}));
  const auto [none, nowhere] = top_k(x, 0, 0, true);
  EXPECT_EQ(none.shape(), Shape{0});
  const auto columns = top_k(Owned(Shape{3, 2}, Int64s{1, 6, 5, 2, 3, 4}), 2, 0, true);
  EXPECT_EQ(columns.first.values<std::int64_t>(), (Int64s{5, 6, 3, 4}));
  EXPECT_EQ(columns.second.values<std::int64_t>(), (Int64s{1, 0, 2, 2}));
  EXPECT_EQ(message_of<ValueError>([&] { top_k(x, 6, 0, true); }),
            "k is 6, it must be from 0 to the length 5 of axis 0 of float64(5,)");
}

TEST(SearchSorted, FindsBothEndsOfEquals) {
  const Owned in(std::vector<double>{1, 2, 2, 3, kNan});
  const Owned values(Shape{2, 3}, std::vector<double>{0, 2, 2.5, 9, kNan, -kInf});
  EXPECT_EQ(search(in, values, false), (Int64s{0, 1, 3, 4, 4, 0}));
  EXPECT_EQ(search(in, values, true), (Int64s{0, 3, 3, 4, 5, 0}));
  EXPECT_EQ(search(Owned(std::vector<double>{}), Owned(std::vector<double>{1}), true), Int64s{0});
  EXPECT_EQ(message_of<ShapeError>([&] { search(counting<double>({2, 2}), values, true); }),
            "the sorted tensor must have one axis, got float64(2, 2)");
  EXPECT_NE(message_of<DTypeError>([&] { search(in, counting<float>({1}), true); }), "");
}

TEST(FlatNonzero, GivesPositionsAndChecksTheirNumber) {
  EXPECT_EQ(nonzero(Owned(Shape{2, 2}, std::vector<double>{0, kNan, -0.0, 5}), 2), (Int64s{1, 3}));
  EXPECT_EQ(nonzero(Owned(std::vector<bool>{true, false, true}), 2), (Int64s{0, 2}));
  EXPECT_EQ(nonzero(Owned(Shape{}, std::vector<float>{1}), 1), (Int64s{0}));
  EXPECT_EQ(nonzero(Owned(Shape{0, 3}, std::vector<float>{}), 0), (Int64s{}));
  EXPECT_EQ(message_of<ValueError>([] { nonzero(Owned(std::vector<float>{1, 1, 0}), 1); }),
            "2 elements differ from zero, expected 1");
  EXPECT_NE(message_of<ValueError>([] { nonzero(Owned(std::vector<float>{1}), 2); }), "");
}

}  // namespace
}  // namespace lento::testing

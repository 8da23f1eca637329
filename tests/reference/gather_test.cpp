// Gathers and scatters: positions, order of updates, and indices out of range.
#include "backends/reference/arithmetic.h"
#include "ir/attrs_gather.gen.h"
#include "ir/attrs_scatter.gen.h"
#include "ir/infer_gather.gen.h"
#include "ir/infer_scatter.gen.h"
#include "reference/kernels_gather.gen.h"
#include "reference/kernels_scatter.gen.h"
#include "reference/owned.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace lento::testing {
namespace {

using Int64s = std::vector<std::int64_t>;

Owned take(const Owned& x, const Owned& indices, std::int64_t axis) {
  return run(infer_take_axis, reference::take_axis, x, indices, TakeAxisAttrs{axis});
}
Owned take_along(const Owned& x, const Owned& indices, std::int64_t axis) {
  return run(infer_take_along_axis, reference::take_along_axis, x, indices, TakeAlongAxisAttrs{axis});
}
Owned gather(const Owned& x, const std::vector<Owned>& indices) {
  Owned out(infer_gather_nd(x.meta(), metas(indices)));
  reference::gather_nd(out.array(), x.array(), arrays(indices));
  return out;
}
Owned scatter_axis(const Owned& x, const Owned& indices, const Owned& value, std::int64_t axis,
                   ScatterAxisAttrs::Mode mode) {
  ScatterAxisAttrs attrs{axis, mode};
  EXPECT_EQ(infer_scatter_axis(x.meta(), indices.meta(), value.meta(), attrs).shape, x.shape());
  const Owned out = x.copy();
  reference::scatter_axis(out.array(), x.array(), indices.array(), value.array(), attrs);
  return out;
}
Owned scatter_nd(const Owned& x, const Owned& value, const std::vector<Owned>& indices, ScatterNdAttrs::Mode mode) {
  ScatterNdAttrs attrs{mode};
  EXPECT_EQ(infer_scatter_nd(x.meta(), value.meta(), metas(indices), attrs).shape, x.shape());
  const Owned out = x.copy();
  reference::scatter_nd(out.array(), x.array(), value.array(), arrays(indices), attrs);
  return out;
}

TEST(TakeAxis, ReplacesTheAxisByThoseOfTheIndices) {
  const Owned x = counting<std::int64_t>({2, 3, 2});
  const Owned rows = take(x, Owned(Shape{2, 2}, std::vector<std::int32_t>{2, 0, -1, -3}), 1);
  EXPECT_EQ(rows.shape(), (Shape{2, 2, 2, 2}));
  EXPECT_EQ(rows.values<std::int64_t>(), (Int64s{4, 5, 0, 1, 4, 5, 0, 1, 10, 11, 6, 7, 10, 11, 6, 7}));
  const Owned one = take(x, Owned(Shape{}, std::vector<std::uint8_t>{1}), -3);
  EXPECT_EQ(one.shape(), (Shape{3, 2}));
  EXPECT_EQ(one.values<std::int64_t>(), (Int64s{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(take(x, Owned(Int64s{}), 0).shape(), (Shape{0, 3, 2}));
  EXPECT_EQ(take(counting<float>({0, 3}), Owned(Int64s{}), 0).shape(), (Shape{0, 3}));
}

TEST(TakeAlongAxis, ReadsAtTheCoordinatesOfTheIndex) {
  const Owned x = counting<std::int64_t>({3, 4});
  EXPECT_EQ(take_along(x, Owned(Shape{3, 2}, Int64s{0, -1, 1, -2, 2, -3}), 1).values<std::int64_t>(),
            (Int64s{0, 3, 5, 6, 10, 9}));
  // Beside the axis the indices may be shorter: the rest of x is not read.
  EXPECT_EQ(take_along(x, Owned(Shape{2, 2}, Int64s{2, 1, 0, 0}), 0).values<std::int64_t>(), (Int64s{8, 5, 0, 1}));
  EXPECT_EQ(take_along(counting<float>({0, 4}), Owned(Shape{0, 2}, Int64s{}), 1).shape(), (Shape{0, 2}));
}

TEST(GatherNd, BroadcastsItsIndicesAndKeepsTheOtherAxes) {
  const Owned x = counting<std::int64_t>({3, 4, 2});
  const Owned result =
      gather(x, {Owned(Shape{2, 1}, Int64s{0, -1}), Owned(Shape{3}, std::vector<std::int8_t>{1, 2, -4})});
  EXPECT_EQ(result.shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(result.values<std::int64_t>(), (Int64s{2, 3, 4, 5, 0, 1, 18, 19, 20, 21, 16, 17}));
  const Owned single = gather(x, {Owned(Shape{}, Int64s{1}), Owned(Shape{}, Int64s{1}), Owned(Shape{}, Int64s{1})});
  EXPECT_EQ(single.shape(), Shape{});
  EXPECT_EQ(single.at<std::int64_t>(0), 11);
  EXPECT_EQ(gather(counting<float>({0, 2}), {Owned(Int64s{})}).shape(), (Shape{0, 2}));
  // An index that is broadcast over nothing selects nothing, and is not looked at.
  EXPECT_EQ(gather(x, {Owned(Int64s{}), Owned(Int64s{99})}).shape(), (Shape{0, 2}));
}

TEST(Gather, T10_IndexOutOfRangeNamesIndexAxisAndLength) {
  const Owned x = counting<float>({3, 4});
  EXPECT_EQ(message_of<IndexError>([&] { take(x, Owned(Int64s{0, 4}), 1); }),
            "index 4 is out of range for axis 1 of length 4");
  EXPECT_EQ(message_of<IndexError>([&] { take(x, Owned(Int64s{-5}), 1); }),
            "index -5 is out of range for axis 1 of length 4");
  EXPECT_EQ(message_of<IndexError>([&] { take(x, Owned(std::vector<std::uint64_t>{~std::uint64_t{0}}), 1); }),
            "index 18446744073709551615 is out of range for axis 1 of length 4");
  EXPECT_EQ(message_of<IndexError>([&] { take(x, Owned(Int64s{INT64_MIN}), 0); }),
            "index -9223372036854775808 is out of range for axis 0 of length 3");
  EXPECT_EQ(message_of<IndexError>([&] { take_along(x, Owned(Shape{1, 1}, Int64s{3}), 0); }),
            "index 3 is out of range for axis 0 of length 3");
  EXPECT_EQ(message_of<IndexError>([&] { gather(x, {Owned(Int64s{1}), Owned(std::vector<std::int8_t>{-5})}); }),
            "index -5 is out of range for axis 1 of length 4");
}

TEST(Gather, T2_ErrorsAtTheCall) {
  const Owned x = counting<float>({3, 4});
  EXPECT_EQ(message_of<DTypeError>([&] { take(x, Owned(std::vector<float>{1}), 0); }),
            "indices must be integers, got float32(1,)");
  EXPECT_NE(message_of<DTypeError>([&] { take(x, Owned(std::vector<bool>{true}), 0); }), "");
  EXPECT_EQ(message_of<IndexError>([&] { take(counting<float>({0, 4}), Owned(Int64s{0}), 0); }),
            "axis 0 of float32(0, 4) is empty: there is nothing to take");
  EXPECT_NE(message_of<IndexError>([&] { take(x, Owned(Int64s{0}), 2); }), "");
  EXPECT_EQ(message_of<ShapeError>([&] { take_along(x, Owned(Int64s{0}), 0); }),
            "indices int64(1,) must have as many axes as float32(3, 4)");
  EXPECT_EQ(message_of<ShapeError>([&] { take_along(x, counting<std::int64_t>({1, 5}), 0); }),
            "indices int64(1, 5) are longer than float32(3, 4) along axis 1, which is not the indexed axis 0");
  EXPECT_EQ(message_of<IndexError>([&] { gather(x, {Owned(Int64s{0}), Owned(Int64s{0}), Owned(Int64s{0})}); }),
            "3 index tensors for float32(3, 4), which has 2 axes");
  EXPECT_EQ(message_of<ShapeError>([&] { gather(x, {Owned(Int64s{0, 1}), Owned(Int64s{0, 1, 2})}); }),
            "shapes (2,), (3,) cannot be broadcast together");
  EXPECT_NE(message_of<IndexError>([&] { gather(counting<float>({0}), {Owned(Int64s{0})}); }), "");
  EXPECT_NE(message_of<ValueError>([&] { gather(x, {}); }), "");
}

TEST(ScatterAxis, SetsTheLastOfSeveralValues) {
  using Mode = ScatterAxisAttrs::Mode;
  const Owned x = counting<std::int64_t>({2, 4});
  const Owned indices(Shape{2, 3}, Int64s{0, 0, -1, 3, 1, 1});
  const Owned value(Shape{2, 3}, Int64s{10, 20, 30, 40, 50, 60});
  EXPECT_EQ(scatter_axis(x, indices, value, 1, Mode::set).values<std::int64_t>(), (Int64s{20, 1, 2, 30, 4, 60, 6, 40}));
  EXPECT_EQ(scatter_axis(x, indices, value, 1, Mode::add).values<std::int64_t>(),
            (Int64s{30, 1, 2, 33, 4, 115, 6, 47}));
  EXPECT_EQ(scatter_axis(x, indices, value, 1, Mode::multiply).values<std::int64_t>(),
            (Int64s{0, 1, 2, 90, 4, 15000, 6, 280}));
  EXPECT_EQ(scatter_axis(x, indices, value, 1, Mode::minimum).values<std::int64_t>(), (Int64s{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(scatter_axis(x, indices, value, 1, Mode::maximum).values<std::int64_t>(),
            (Int64s{20, 1, 2, 30, 4, 60, 6, 40}));
}

TEST(ScatterAxis, AddsInTheOrderOfTheIndices) {
  // 1e8 + 1 rounds to 1e8 in float32: the order of updates shows in the result.
  const Owned x(std::vector<float>{1e8F});
  const Owned indices(Int64s{0, 0, 0});
  const auto total = [&](std::vector<float> values) {
    return scatter_axis(x, indices, Owned(values), 0, ScatterAxisAttrs::Mode::add).at<float>(0);
  };
  EXPECT_EQ(total({3, -1e8F, 3}), 3.0F);
  EXPECT_EQ(total({-1e8F, 3, 3}), 6.0F);
}

TEST(ScatterNd, WritesWholeRows) {
  using Mode = ScatterNdAttrs::Mode;
  const Owned x = counting<std::int64_t>({3, 2});
  const Owned value(Shape{3, 2}, Int64s{10, 20, 30, 40, 50, 60});
  const std::vector<Owned> rows = {Owned(Int64s{0, -1, 0})};
  EXPECT_EQ(scatter_nd(x, value, rows, Mode::set).values<std::int64_t>(), (Int64s{50, 60, 2, 3, 30, 40}));
  EXPECT_EQ(scatter_nd(x, value, rows, Mode::add).values<std::int64_t>(), (Int64s{60, 81, 2, 3, 34, 45}));
  const Owned corner =
      scatter_nd(x, Owned(Shape{}, Int64s{99}), {Owned(Shape{}, Int64s{2}), Owned(Shape{}, Int64s{-1})}, Mode::set);
  EXPECT_EQ(corner.values<std::int64_t>(), (Int64s{0, 1, 2, 3, 4, 99}));
  EXPECT_EQ(scatter_nd(x, Owned(Shape{0, 2}, Int64s{}), {Owned(Int64s{})}, Mode::set).values<std::int64_t>(),
            x.values<std::int64_t>());
}

TEST(Scatter, IsTheInverseOfGather) {
  std::mt19937 engine(3);
  Int64s order = {0, 1, 2, 3, 4};
  for (int round = 0; round < 20; ++round) {
    std::shuffle(order.begin(), order.end(), engine);
    const Owned x = counting<std::int64_t>({5, 3});
    const std::vector<Owned> rows = {Owned(order)};
    const Owned back = scatter_nd(Owned(Shape{5, 3}, Int64s(15, -1)), gather(x, rows), rows, ScatterNdAttrs::Mode::set);
    EXPECT_EQ(back.values<std::int64_t>(), x.values<std::int64_t>());
  }
}

TEST(Scatter, EveryDtypeAndMode) {
  dispatch_all([]<class T>() {
    const Owned x(std::vector<T>{T(0), T(1), T(1)});
    const Owned value(std::vector<T>{T(1), T(0)});
    const Owned indices(Int64s{0, 2});
    using Mode = ScatterAxisAttrs::Mode;
    const auto expect = [&](Mode mode, int first, int third) {
      const Owned result = scatter_axis(x, indices, value, 0, mode);
      EXPECT_EQ(reference::widen(result.at<T>(0)), reference::ComputeType<T>(first));
      EXPECT_EQ(reference::widen(result.at<T>(1)), reference::ComputeType<T>(1));
      EXPECT_EQ(reference::widen(result.at<T>(2)), reference::ComputeType<T>(third));
    };
    expect(Mode::set, 1, 0);
    expect(Mode::add, 1, 1);
    expect(Mode::multiply, 0, 0);
    if constexpr (reference::Complex<T>) {
      EXPECT_NE(message_of<DTypeError>([&] { scatter_axis(x, indices, value, 0, Mode::minimum); }), "");
    } else {
      expect(Mode::minimum, 0, 0);
      expect(Mode::maximum, 1, 1);
    }
  });
}

TEST(Scatter, SpecialValues) {
  using Mode = ScatterAxisAttrs::Mode;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Owned x(std::vector<float>{1, nan, -0.0F});
  const Owned indices(Int64s{0, 1, 2});
  const Owned value(std::vector<float>{nan, 1, 0.0F});
  const Owned largest = scatter_axis(x, indices, value, 0, Mode::maximum);
  EXPECT_TRUE(std::isnan(largest.at<float>(0)) && std::isnan(largest.at<float>(1)));
  EXPECT_FALSE(std::signbit(largest.at<float>(2)));
  const Owned wrapped = scatter_axis(Owned(std::vector<std::int8_t>{127}), Owned(Int64s{0}),
                                     Owned(std::vector<std::int8_t>{1}), 0, Mode::add);
  EXPECT_EQ(wrapped.at<std::int8_t>(0), -128);
}

TEST(Scatter, AFailedUpdateHasChangedNothing) {
  const Owned x = counting<float>({4});
  const Owned out = x.copy();
  const Owned indices(Int64s{0, 1, 7}), value(std::vector<float>{9, 9, 9});
  EXPECT_EQ(message_of<IndexError>([&] {
              reference::scatter_axis(out.array(), x.array(), indices.array(), value.array(),
                                      {0, ScatterAxisAttrs::Mode::set});
            }),
            "index 7 is out of range for axis 0 of length 4");
  EXPECT_EQ(out.values<float>(), x.values<float>());
}

TEST(Scatter, T2_ErrorsAtTheCall) {
  const Owned x = counting<float>({3, 2});
  const Owned indices(Int64s{0, 1});
  EXPECT_EQ(message_of<ShapeError>([&] { scatter_nd(x, counting<float>({2}), {indices}, ScatterNdAttrs::Mode::set); }),
            "the value float32(2,) must have the shape (2, 2) that the indices select");
  EXPECT_EQ(
      message_of<DTypeError>([&] { scatter_nd(x, counting<double>({2, 2}), {indices}, ScatterNdAttrs::Mode::set); }),
      "x and value must have one dtype, got float32(3, 2) and float64(2, 2)");
  EXPECT_EQ(message_of<ShapeError>([&] {
              scatter_axis(x, counting<std::int64_t>({3, 1}), counting<float>({3, 2}), 1, ScatterAxisAttrs::Mode::set);
            }),
            "the value float32(3, 2) must have the shape of the indices (3, 1)");
}

}  // namespace
}  // namespace lento::testing

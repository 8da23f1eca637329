// Index maps against a reader of coordinates: each kernel's result is compared with a formula for one element, over
// random shapes; then errors and every dtype.
#include "ir/attrs_index_map.gen.h"
#include "ir/infer_index_map.gen.h"
#include "reference/kernels_index_map.gen.h"
#include "reference/owned.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

namespace lento::testing {
namespace {

/// The element of a row-major tensor of counting numbers at these coordinates.
std::int64_t at(const Shape& shape, const Ints& position) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) offset = offset * shape[axis] + position[axis];
  return offset;
}

/// Checks each element of `result` against `expected(position)`.
void expect_elements(const Owned& result, const std::function<std::int64_t(const Ints&)>& expected) {
  const Shape& shape = result.shape();
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    Ints position(shape.size(), 0);
    std::int64_t rest = i;
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) position[axis] = rest % shape[axis];
    ASSERT_EQ(result.at<std::int64_t>(i), expected(position));
  }
}

class IndexMap : public ::testing::Test {
 protected:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  Shape random_shape(std::int64_t smallest = 0) {
    Shape shape(static_cast<std::size_t>(pick(0, 4)), 0);
    for (std::int64_t& extent : shape) extent = pick(smallest, 4);
    return shape;
  }

  std::mt19937 engine_{7};
};

Owned reshape(const Owned& x, const Shape& shape) {
  return run(infer_reshape, reference::reshape, x, ReshapeAttrs{shape});
}
Owned permute(const Owned& x, const Ints& axes) {
  return run(infer_permute_dims, reference::permute_dims, x, PermuteDimsAttrs{axes});
}
Owned broadcast(const Owned& x, const Shape& shape) {
  return run(infer_broadcast_to, reference::broadcast_to, x, BroadcastToAttrs{shape});
}
Owned slice(const Owned& x, const std::vector<Scalar>& starts, StridedSliceAttrs attrs) {
  Owned out(infer_strided_slice(x.meta(), attrs));
  reference::strided_slice(out.array(), x.array(), starts, attrs);
  return out;
}
Owned update(const Owned& x, const Owned& value, const std::vector<Scalar>& starts, StridedUpdateAttrs attrs) {
  EXPECT_EQ(infer_strided_update(x.meta(), value.meta(), attrs).shape, x.shape());
  const Owned out = x.copy();
  reference::strided_update(out.array(), x.array(), value.array(), starts, attrs);
  return out;
}
Owned pad(const Owned& x, const Scalar& value, const Ints& low, const Ints& high) {
  PadConstantAttrs attrs{low, high};
  Owned out(infer_pad_constant(x.meta(), attrs));
  reference::pad_constant(out.array(), x.array(), value, attrs);
  return out;
}
Owned concatenate(const std::vector<Owned>& xs, std::int64_t axis) {
  ConcatenateAttrs attrs{axis};
  Owned out(infer_concatenate(metas(xs), attrs));
  reference::concatenate(out.array(), arrays(xs), attrs);
  return out;
}

TEST_F(IndexMap, PermuteDims) {
  for (int round = 0; round < 200; ++round) {
    const Shape shape = random_shape();
    Ints axes;
    for (std::size_t a = 0; a < shape.size(); ++a) axes.push_back(static_cast<std::int64_t>(a));
    std::shuffle(axes.begin(), axes.end(), engine_);
    const Ints order = axes;
    if (!axes.empty()) axes[0] -= static_cast<std::int64_t>(shape.size());  // negative axes count from the end
    expect_elements(permute(counting<std::int64_t>(shape), axes), [&](const Ints& position) {
      Ints source(shape.size(), 0);
      for (std::size_t a = 0; a < shape.size(); ++a) source[static_cast<std::size_t>(order[a])] = position[a];
      return at(shape, source);
    });
  }
}

TEST_F(IndexMap, BroadcastTo) {
  for (int round = 0; round < 200; ++round) {
    const Shape target = random_shape();
    Shape shape(target.begin() + pick(0, static_cast<std::int64_t>(target.size())), target.end());
    for (std::int64_t& extent : shape) extent = pick(0, 1) == 0 ? 1 : extent;
    const Owned result = broadcast(counting<std::int64_t>(shape), target);
    ASSERT_EQ(result.shape(), target);
    expect_elements(result, [&](const Ints& position) {
      Ints source(position.end() - shape.size(), position.end());
      for (std::size_t a = 0; a < shape.size(); ++a) source[a] = shape[a] == 1 ? 0 : source[a];
      return at(shape, source);
    });
  }
}

TEST_F(IndexMap, StridedSliceAndUpdate) {
  for (int round = 0; round < 500; ++round) {
    const Shape shape = random_shape(1);
    StridedSliceAttrs attrs;
    std::vector<Scalar> starts;
    Ints first(shape.size(), 0), step(shape.size(), 1);
    Shape part = shape;
    for (std::size_t a = shape.size(); a-- > 0;) {  // axes in any order
      if (pick(0, 2) == 0) continue;
      first[a] = pick(0, shape[a] - 1);
      step[a] = pick(1, 3) * (pick(0, 1) == 0 ? 1 : -1);
      const std::int64_t room = step[a] > 0 ? (shape[a] - 1 - first[a]) / step[a] : first[a] / -step[a];
      part[a] = pick(0, room + 1);
      attrs.axes.push_back(static_cast<std::int64_t>(a));
      attrs.sizes.push_back(part[a]);
      attrs.steps.push_back(step[a]);
      starts.emplace_back(first[a]);
    }
    const Owned x = counting<std::int64_t>(shape);
    const Owned taken = slice(x, starts, attrs);
    ASSERT_EQ(taken.shape(), part);
    expect_elements(taken, [&](const Ints& position) {
      Ints source = position;
      for (std::size_t a = 0; a < shape.size(); ++a) source[a] = first[a] + position[a] * step[a];
      return at(shape, source);
    });

    // Writing -1 - i there, and reading it back, changes exactly these elements.
    std::vector<std::int64_t> marks;
    for (std::int64_t i = 0; i < element_count(part); ++i) marks.push_back(-1 - i);
    const Owned changed = update(x, Owned(part, marks), starts, {attrs.axes, attrs.steps});
    EXPECT_EQ(slice(changed, starts, attrs).values<std::int64_t>(), marks);
    const auto values = changed.values<std::int64_t>();
    EXPECT_EQ(std::count_if(values.begin(), values.end(), [](std::int64_t v) { return v < 0; }), element_count(part));
  }
}

TEST_F(IndexMap, PadConstant) {
  for (int round = 0; round < 300; ++round) {
    const Shape shape = random_shape();
    Ints low, high;
    for (const std::int64_t extent : shape) {
      low.push_back(pick(-extent, 2));
      high.push_back(std::max(pick(-2, 2), -(extent + low.back())));
    }
    expect_elements(pad(counting<std::int64_t>(shape), -7, low, high), [&](const Ints& position) -> std::int64_t {
      Ints source = position;
      for (std::size_t a = 0; a < shape.size(); ++a) {
        source[a] -= low[a];
        if (source[a] < 0 || source[a] >= shape[a]) return -7;
      }
      return at(shape, source);
    });
  }
}

TEST_F(IndexMap, Concatenate) {
  for (int round = 0; round < 200; ++round) {
    Shape shape = random_shape();
    shape.push_back(1);
    const auto axis = static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(shape.size()) - 1));
    std::vector<Owned> pieces;
    for (std::int64_t n = pick(1, 4); n > 0; --n) {
      shape[axis] = pick(0, 3);
      pieces.push_back(counting<std::int64_t>(shape));
    }
    expect_elements(concatenate(pieces, static_cast<std::int64_t>(axis) - static_cast<std::int64_t>(shape.size())),
                    [&](Ints position) {
                      for (const Owned& piece : pieces) {
                        const std::int64_t extent = piece.shape()[axis];
                        if (position[axis] < extent) return at(piece.shape(), position);
                        position[axis] -= extent;
                      }
                      return std::int64_t{-1};
                    });
  }
}

TEST_F(IndexMap, ReshapeComputesOneLength) {
  const Owned x = counting<std::int64_t>({2, 3, 4});
  EXPECT_EQ(reshape(x, {-1}).shape(), Shape{24});
  EXPECT_EQ(reshape(x, {4, -1}).shape(), (Shape{4, 6}));
  EXPECT_EQ(reshape(x, {4, 6}).values<std::int64_t>(), x.values<std::int64_t>());
  EXPECT_EQ(reshape(counting<std::int64_t>({1}), {}).shape(), Shape{});
  EXPECT_EQ(reshape(counting<std::int64_t>({0, 3}), {-1, 3}).shape(), (Shape{0, 3}));
  EXPECT_EQ(reshape(counting<std::int64_t>({0, 3}), {5, 0}).shape(), (Shape{5, 0}));
}

TEST_F(IndexMap, BroadcastToKeepsLengthsGivenAsMinusOne) {
  EXPECT_EQ(broadcast(counting<std::int64_t>({3, 1}), {2, -1, 4}).shape(), (Shape{2, 3, 4}));
}

TEST_F(IndexMap, EveryDtypeIsMovedBitForBit) {
  dispatch_all([]<class T>() {
    const Owned x(Shape{2, 2}, std::vector<T>{T(0), T(1), T(1), T(0)});
    const auto expect = [](const Owned& result, std::vector<int> wanted) {
      ASSERT_EQ(result.dtype(), dtype_of<T>());
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const T a = result.at<T>(static_cast<std::int64_t>(i)), b = T(wanted[i]);
        EXPECT_EQ(std::memcmp(&a, &b, sizeof(T)), 0);
      }
    };
    expect(permute(x, {1, 0}), {0, 1, 1, 0});
    expect(reshape(x, {4}), {0, 1, 1, 0});
    expect(broadcast(Owned(Shape{}, std::vector<T>{T(1)}), {2}), {1, 1});
    expect(slice(x, {1}, {{1}, {1}, {1}}), {1, 0});
    expect(pad(x, 1, {0, 1}, {0, 0}), {1, 0, 1, 1, 1, 0});
    expect(concatenate({x, x}, 0), {0, 1, 1, 0, 0, 1, 1, 0});
  });
}

TEST_F(IndexMap, T2_ErrorsNameTheRule) {
  const Owned x = counting<float>({2, 3});
  EXPECT_EQ(message_of<ShapeError>([&] { reshape(x, {4}); }), "float32(2, 3) has 6 elements, shape (4,) has 4");
  EXPECT_EQ(message_of<ShapeError>([&] { reshape(x, {4, -1}); }),
            "the 6 elements of float32(2, 3) cannot be divided among shape (4, -1)");
  EXPECT_EQ(message_of<ValueError>([&] { reshape(x, {-1, -1}); }), "shape (-1, -1) has more than one -1");
  EXPECT_EQ(message_of<ValueError>([&] { reshape(x, {-2, 3}); }), "negative length -2 in shape (-2, 3)");
  EXPECT_NE(message_of<ValueError>([&] { reshape(counting<float>({0}), {0, -1}); }), "");
  EXPECT_EQ(message_of<ValueError>([&] { permute(x, {0}); }),
            "axes (0,) must name each of the 2 axes of float32(2, 3) once");
  EXPECT_EQ(message_of<ValueError>([&] { permute(x, {0, -2}); }), "axis 0 is given twice in (0, -2)");
  EXPECT_EQ(message_of<ShapeError>([&] { broadcast(x, {2, 4}); }),
            "float32(2, 3) cannot be broadcast to (2, 4): axis 1 has length 3");
  EXPECT_EQ(message_of<ShapeError>([&] { broadcast(x, {3}); }), "float32(2, 3) has more axes than shape (3,)");
  EXPECT_EQ(message_of<ShapeError>([&] { concatenate({x, counting<float>({2, 2})}, 0); }),
            "tensors 0 and 1 may differ along axis 0 only, got (2, 3) and (2, 2)");
  EXPECT_NE(message_of<ShapeError>([&] { concatenate({x, counting<float>({2})}, 0); }), "");
  EXPECT_NE(message_of<DTypeError>([&] { concatenate({x, counting<double>({2, 3})}, 0); }), "");
  EXPECT_NE(message_of<ValueError>([&] { concatenate({}, 0); }), "");
  EXPECT_EQ(message_of<ShapeError>([&] { concatenate({counting<float>({})}, 0); }),
            "zero-dimensional tensors cannot be concatenated");
  EXPECT_EQ(message_of<ShapeError>([&] { pad(x, 0, {0, -4}, {0, 0}); }),
            "padding axis 1 of float32(2, 3) by -4 and 0 gives no valid length");
  EXPECT_NE(message_of<ValueError>([&] { pad(x, 0, {0}, {0, 0}); }), "");
  EXPECT_NE(message_of<ShapeError>([&] { pad(x, 0, {0, INT64_MAX}, {0, 0}); }), "");
}

TEST_F(IndexMap, SlicesNeverReachOutside) {
  const Owned x = counting<float>({2, 5});
  EXPECT_EQ(message_of<IndexError>([&] { slice(x, {0}, {{1}, {4}, {2}}); }),
            "a slice of 4 elements with step 2 does not fit axis 1 of float32(2, 5)");
  EXPECT_EQ(message_of<IndexError>([&] { slice(x, {3}, {{1}, {2}, {2}}); }),
            "a slice of 2 elements from 3 with step 2 leaves axis 1 of length 5");
  EXPECT_EQ(message_of<IndexError>([&] { slice(x, {0}, {{1}, {2}, {-1}}); }),
            "a slice of 2 elements from 0 with step -1 leaves axis 1 of length 5");
  EXPECT_EQ(message_of<IndexError>([&] { slice(x, {5}, {{1}, {1}, {1}}); }),
            "slice start 5 is out of range for axis 1 of length 5");
  EXPECT_EQ(message_of<IndexError>([&] { slice(x, {-1}, {{1}, {1}, {1}}); }),
            "slice start -1 is out of range for axis 1 of length 5");
  EXPECT_EQ(message_of<ValueError>([&] { slice(x, {0}, {{1}, {1}, {0}}); }), "a slice step cannot be zero");
  EXPECT_NE(message_of<ValueError>([&] { slice(x, {0}, {{1}, {-1}, {1}}); }), "");
  EXPECT_NE(message_of<ValueError>([&] { slice(x, {}, {{1}, {1}, {1}}); }), "");
  EXPECT_NE(message_of<ValueError>([&] { slice(x, {0, 0}, {{1, -1}, {1, 1}, {1, 1}}); }), "");
  // Extreme steps and starts neither overflow nor read.
  for (const std::int64_t step : {INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(slice(x, {4}, {{1}, {1}, {step}}).values<float>(), (std::vector<float>{4, 9}));
    EXPECT_NE(message_of<IndexError>([&] { slice(x, {4}, {{1}, {2}, {step}}); }), "");
    EXPECT_EQ(slice(x, {step}, {{1}, {0}, {step}}).shape(), (Shape{2, 0}));
  }
  EXPECT_NE(message_of<IndexError>([&] { slice(x, {INT64_MAX}, {{1}, {2}, {1}}); }), "");
  EXPECT_NE(message_of<IndexError>([&] { update(x, counting<float>({2, 2}), {4}, {{1}, {1}}); }), "");
  EXPECT_EQ(message_of<ShapeError>([&] { update(x, counting<float>({1, 2}), {0}, {{1}, {1}}); }),
            "the value float32(1, 2) does not match float32(2, 5) along axis 0, which is not sliced");
  EXPECT_NE(message_of<DTypeError>([&] { update(x, counting<double>({2, 2}), {0}, {{1}, {1}}); }), "");
  EXPECT_NE(message_of<ShapeError>([&] { update(x, counting<float>({2}), {0}, {{1}, {1}}); }), "");
}

}  // namespace
}  // namespace lento::testing

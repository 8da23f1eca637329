// The broadcasting loop around elementwise kernels.
#include "backends/reference/elementwise.h"
#include "reference/owned.h"

#include <gtest/gtest.h>

#include <random>

namespace lento::testing {
namespace {

using reference::KernelOperand;

/// out = 1000 a + b, with operands of different sizes.
void combine(std::int64_t count, void* out, const void* const* inputs, const std::int64_t* strides) {
  const auto* a = static_cast<const std::int16_t*>(inputs[0]);
  const auto* b = static_cast<const std::int64_t*>(inputs[1]);
  for (std::int64_t i = 0; i < count; ++i) {
    static_cast<std::int64_t*>(out)[i] = 1000 * a[i * strides[0]] + b[i * strides[1]];
  }
}

TEST(Elementwise, BroadcastsRandomShapes) {
  std::mt19937 engine(11);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine);
  };
  for (int round = 0; round < 500; ++round) {
    Shape shape(static_cast<std::size_t>(pick(0, 4)), 0);
    for (std::int64_t& extent : shape) extent = pick(0, 4);
    const auto random_operand = [&] {
      Shape mine(shape.begin() + pick(0, static_cast<std::int64_t>(shape.size())), shape.end());
      for (std::int64_t& extent : mine) extent = pick(0, 2) == 0 ? 1 : extent;
      return mine;
    };
    const Owned a = counting<std::int16_t>(random_operand()), b = counting<std::int64_t>(random_operand());
    const Owned out(Meta{DType::int64, shape});
    const KernelOperand operands[] = {a.array(), b.array()};
    reference::run_elementwise(combine, out.array(), operands);
    const auto element = [&](const Shape& mine, const Ints& position) {
      std::int64_t offset = 0;
      for (std::size_t axis = 0; axis < mine.size(); ++axis) {
        const std::int64_t at = position[position.size() - mine.size() + axis];
        offset = offset * mine[axis] + (mine[axis] == 1 ? 0 : at);
      }
      return offset;
    };
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
      Ints position(shape.size(), 0);
      std::int64_t rest = i;
      for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) position[axis] = rest % shape[axis];
      ASSERT_EQ(out.at<std::int64_t>(i), 1000 * element(a.shape(), position) + element(b.shape(), position));
    }
  }
}

TEST(Elementwise, TakesNumbersInTheDtypeOfTheKernel) {
  const Owned x = counting<std::int64_t>({2, 2});
  const Owned out(x.meta());
  const KernelOperand operands[] = {KernelOperand(Scalar(7), DType::int16), x.array()};
  reference::run_elementwise(combine, out.array(), operands);
  EXPECT_EQ(out.values<std::int64_t>(), (std::vector<std::int64_t>{7000, 7001, 7002, 7003}));
}

}  // namespace
}  // namespace lento::testing

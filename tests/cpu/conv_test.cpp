// Convolutions and their gradients against the reference kernels.
#include "backends/cpu/libraries/conv.h"
#include "against_reference.h"
#include "backends/cpu/libraries/transpose.h"
#include "backends/cpu/threads.h"
#include "backends/reference/dispatch.h"
#include "reference/kernels_contraction.gen.h"
#include "reference/kernels_creation.gen.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>

namespace lento::cpu {
namespace {

/// One convolution, by the shapes and lists of the catalogue.
struct Case {
  Shape x;
  Shape weight;
  Ints stride;
  Ints padding_low;
  Ints padding_high;
  Ints dilation;
  std::int64_t groups = 1;
};

Shape result_shape(const Case& c) {
  Shape shape{c.x[0], c.weight[0]};
  for (std::size_t axis = 0; axis < c.stride.size(); ++axis) {
    const std::int64_t padded = c.x[2 + axis] + c.padding_low[axis] + c.padding_high[axis];
    const std::int64_t reach = (c.weight[2 + axis] - 1) * c.dilation[axis] + 1;
    shape.push_back((padded - reach) / c.stride[axis] + 1);
  }
  return shape;
}

ConvolutionProblem problem_of(ConvolutionKind kind, DType dtype, const Case& c, const Shape& y) {
  return {kind, dtype, c.x, c.weight, y, c.stride, c.padding_low, c.dilation, c.groups};
}

Ints spatial_of(const Shape& shape) { return Ints(shape.begin() + 2, shape.end()); }

/// How many products make an element of the result, at most.
std::int64_t sum_length(ConvolutionKind kind, const Case& c, const Shape& y) {
  const std::int64_t kernel = element_count(c.weight.span().subspan(2));
  if (kind == ConvolutionKind::forward) return c.weight[1] * kernel;
  if (kind == ConvolutionKind::input_grad) return c.weight[0] / c.groups * kernel;
  return c.x[0] * element_count(y.span().subspan(2));
}

template <class T>
struct Operands {
  std::vector<T> x, weight, y;

  Operands(const Case& c, const Shape& y_shape)
      : x(random_elements<T>(element_count(c.x), 1)),
        weight(random_elements<T>(element_count(c.weight), 2)),
        y(random_elements<T>(element_count(y_shape), 3)) {}

  std::vector<T>& result(ConvolutionKind kind) {
    return kind == ConvolutionKind::forward ? y : kind == ConvolutionKind::input_grad ? x : weight;
  }
};

template <class T>
void run_reference(ConvolutionKind kind, const Case& c, const Shape& y_shape, Operands<T>& operands) {
  const reference::Array x(operands.x.data(), dtype_of<T>(), c.x);
  const reference::Array weight(operands.weight.data(), dtype_of<T>(), c.weight);
  const reference::Array y(operands.y.data(), dtype_of<T>(), y_shape);
  if (kind == ConvolutionKind::forward) {
    reference::convolution(y, x, weight, {c.stride, c.padding_low, c.padding_high, c.dilation, c.groups});
  } else if (kind == ConvolutionKind::input_grad) {
    reference::convolution_input_grad(x, y, weight,
                                      {spatial_of(c.x), c.stride, c.padding_low, c.padding_high, c.dilation, c.groups});
  } else {
    reference::convolution_weight_grad(
        weight, y, x, {spatial_of(c.weight), c.stride, c.padding_low, c.padding_high, c.dilation, c.groups});
  }
}

template <class T>
void expect_like_reference(ConvolutionKind kind, const Case& c, Shape y_shape) {
  const auto prepared = PreparedConvolution::make(problem_of(kind, dtype_of<T>(), c, y_shape));
  ASSERT_NE(prepared, nullptr);
  Operands<T> ours(c, y_shape);
  Operands<T> expected(c, y_shape);
  prepared->run(ours.x.data(), ours.weight.data(), ours.y.data());
  run_reference(kind, c, y_shape, expected);
  EXPECT_LE(largest_distance(ours.result(kind), expected.result(kind)), error_bound<T>(sum_length(kind, c, y_shape)));
}

const Case kCases[] = {
    // one, two and three spatial axes
    {{2, 3, 7}, {4, 3, 3}, {1}, {0}, {0}, {1}, 1},
    {{2, 4, 6, 5}, {6, 2, 3, 2}, {2, 1}, {1, 0}, {2, 1}, {1, 2}, 2},
    {{1, 2, 4, 3, 5}, {2, 2, 2, 2, 2}, {1, 2, 1}, {0, 1, 1}, {0, 1, 0}, {1, 1, 2}, 1},
    // one element, one channel, kernels as large as what they slide over
    {{1, 1, 1}, {1, 1, 1}, {1}, {0}, {0}, {1}, 1},
    {{3, 1, 5, 5}, {2, 1, 5, 5}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1},
    // strides that leave a rest, unequal padding
    {{2, 3, 10, 11}, {5, 3, 3, 3}, {3, 2}, {1, 1}, {0, 1}, {1, 1}, 1},
    {{2, 8, 9, 9}, {16, 8, 1, 1}, {2, 2}, {0, 0}, {0, 0}, {1, 1}, 1},
    {{2, 8, 9, 9}, {16, 8, 1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1},
    {{1, 16, 12, 12}, {16, 16, 3, 3}, {1, 1}, {2, 2}, {2, 2}, {2, 2}, 1},
    // groups, one channel each (also two results each), and channel counts that fill no vector
    {{2, 32, 8, 8}, {32, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 32},
    {{2, 6, 8, 8}, {12, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 6},
    {{2, 12, 7, 7}, {9, 4, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 3},
    // channels last, of images smaller than 16 pixels, of 1 and 3 axes, and of another number of channels on one side
    {{3, 16, 3, 3}, {32, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {{2, 32, 7, 9}, {48, 32, 3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 1},
    {{2, 16, 37}, {16, 16, 5}, {1}, {2}, {2}, {1}, 1},
    {{2, 16, 4, 5, 6}, {16, 16, 3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 1},
    {{2, 16, 9, 9}, {20, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    // and what is left in oneDNN's order: windows one pixel wide, and with gaps and a stride
    {{2, 16, 9, 9}, {16, 16, 3, 1}, {1, 1}, {1, 0}, {1, 0}, {1, 1}, 1},
    {{2, 16, 13, 13}, {16, 16, 3, 3}, {2, 2}, {2, 2}, {2, 2}, {2, 2}, 1},
    // several pieces: images, and slices of channels
    {{6, 16, 20, 20}, {32, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {{7, 1, 28, 28}, {8, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {{1, 80, 14, 14}, {144, 80, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {{1, 144, 24, 24}, {256, 144, 1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1},
    {{1, 128, 14, 14}, {128, 64, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    // weights whose gradient is a sum of those of several pieces: also of few images each, of groups, and of slices
    {{8, 16, 16, 16}, {16, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {{7, 16, 24, 24}, {16, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {{24, 32, 20, 20}, {32, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 32},
    {{4, 32, 24, 24}, {144, 32, 1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1},
    // nothing
    {{0, 3, 7}, {4, 3, 3}, {1}, {0}, {0}, {1}, 1},
    {{2, 3, 7}, {0, 3, 3}, {1}, {0}, {0}, {1}, 1},
    {{2, 0, 7}, {4, 0, 3}, {1}, {0}, {0}, {1}, 1},
};

class Convolutions : public testing::TestWithParam<std::tuple<ConvolutionKind, std::size_t>> {
 protected:
  static ConvolutionKind kind() { return std::get<0>(GetParam()); }
  static const Case& geometry() { return kCases[std::get<1>(GetParam())]; }
};
INSTANTIATE_TEST_SUITE_P(All, Convolutions,
                         testing::Combine(testing::Values(ConvolutionKind::forward, ConvolutionKind::input_grad,
                                                          ConvolutionKind::weight_grad),
                                          testing::Range<std::size_t>(0, std::size(kCases))));

TEST_P(Convolutions, AreLikeTheReferenceInEveryFloatType) {
  const Shape y = result_shape(geometry());
  expect_like_reference<float>(kind(), geometry(), y);
  expect_like_reference<float16>(kind(), geometry(), y);
  expect_like_reference<bfloat16>(kind(), geometry(), y);
}

TEST_P(Convolutions, BitsDoNotDependOnTheNumberOfThreads) {
  const int before = get_num_threads();
  const Shape y = result_shape(geometry());
  const auto prepared = PreparedConvolution::make(problem_of(kind(), DType::float32, geometry(), y));
  ASSERT_NE(prepared, nullptr);
  std::vector<float> first;
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    Operands<float> operands(geometry(), y);
    prepared->run(operands.x.data(), operands.weight.data(), operands.y.data());
    if (first.empty()) first = operands.result(kind());
    EXPECT_EQ(first, operands.result(kind())) << threads;
  }
  set_num_threads(before);
}

TEST(Transpose, MovesEveryElementAndNoOther) {
  constexpr float kUntouched = -1;
  for (const std::int64_t rows : {1, 15, 16, 17, 32, 50}) {
    for (const std::int64_t columns : {1, 15, 16, 33, 49, 64}) {
      std::vector<float> from(static_cast<std::size_t>(rows * columns)), to(from.size() + 2, kUntouched);
      std::iota(from.begin(), from.end(), 0.0F);
      transpose_matrix(from.data(), to.data() + 1, rows, columns);
      EXPECT_EQ(to.front(), kUntouched);
      EXPECT_EQ(to.back(), kUntouched);
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j)
          ASSERT_EQ(to[static_cast<std::size_t>(1 + j * rows + i)], from[static_cast<std::size_t>(i * columns + j)])
              << rows << " x " << columns << " at " << i << ", " << j;
      }
    }
  }
}

TEST(Convolution, OneRunsOnManyThreadsAtOnce) {
  const Case& c = kCases[12];
  const Shape y = result_shape(c);
  const auto prepared = PreparedConvolution::make(problem_of(ConvolutionKind::forward, DType::float32, c, y));
  ASSERT_NE(prepared, nullptr);
  std::vector<Operands<float>> operands(4, Operands<float>(c, y));
  std::vector<std::thread> threads;
  for (auto& own : operands) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) prepared->run(own.x.data(), own.weight.data(), own.y.data());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& own : operands) EXPECT_EQ(own.y, operands[0].y);
}

TEST(Convolution, NanReachesExactlyTheWindowsThatSeeIt) {
  for (const std::int64_t channels : {1, 3, 16, 20}) {
    const Case c{{1, channels, 6, 6}, {18, channels, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1};
    const Shape y = result_shape(c);
    Operands<float> operands(c, y);
    operands.x[0] = std::numeric_limits<float>::quiet_NaN();  // the corner of channel 0
    const auto prepared = PreparedConvolution::make(problem_of(ConvolutionKind::forward, DType::float32, c, y));
    ASSERT_NE(prepared, nullptr);
    prepared->run(operands.x.data(), operands.weight.data(), operands.y.data());
    int wrong = 0;
    for (std::size_t i = 0; i < operands.y.size(); ++i) {
      const bool sees = i % 36 / 6 <= 1 && i % 6 <= 1;
      if (std::isnan(operands.y[i]) != sees) ++wrong;
    }
    EXPECT_EQ(wrong, 0) << channels;
  }
}

TEST(Convolution, GradientsOfSmallerResultsAreRightOrLeftToTheReference) {
  const Case c{{2, 3, 9, 9}, {4, 3, 3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 1};
  const Shape smaller{2, 4, 4, 5};
  for (const ConvolutionKind kind : {ConvolutionKind::input_grad, ConvolutionKind::weight_grad}) {
    if (PreparedConvolution::make(problem_of(kind, DType::float32, c, smaller)) != nullptr)
      expect_like_reference<float>(kind, c, smaller);
  }
}

TEST(Convolution, OtherTypesAndMoreAxesAreLeftToTheReference) {
  const Case c = kCases[0];
  for (const DType dtype : {DType::float64, DType::complex64, DType::int32}) {
    EXPECT_EQ(PreparedConvolution::make(problem_of(ConvolutionKind::forward, dtype, c, result_shape(c))), nullptr);
  }
  const Case four{{1, 1, 2, 2, 2, 2}, {1, 1, 1, 1, 1, 1}, {1, 1, 1, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}, {1, 1, 1, 1}, 1};
  EXPECT_EQ(PreparedConvolution::make(problem_of(ConvolutionKind::forward, DType::float32, four, result_shape(four))),
            nullptr);
}

}  // namespace
}  // namespace lento::cpu

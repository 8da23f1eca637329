// Matrix products and convolutions, against formulas written another way and against each other.
#include "ir/attrs_contraction.gen.h"
#include "ir/infer_contraction.gen.h"
#include "reference/kernels_contraction.gen.h"
#include "reference/owned.h"

#include <gtest/gtest.h>

#include <random>

namespace lento::testing {
namespace {

Owned matmul(const Owned& a, const Owned& b) {
  Owned out(infer_matrix_multiply(a.meta(), b.meta()));
  reference::matrix_multiply(out.array(), a.array(), b.array());
  return out;
}

/// Small whole numbers, for which every type that holds them is exact.
template <class T>
Owned small_numbers(const Shape& shape, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<T> values;
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    const int number = static_cast<int>(engine() % 7) - 3;
    values.push_back(static_cast<T>(static_cast<float>(number)));
  }
  return Owned(shape, values);
}

/// An element of any type, to compare and multiply.
template <class T>
std::complex<double> number(T x) {
  if constexpr (std::same_as<T, float16> || std::same_as<T, bfloat16>) {
    return static_cast<float>(x);
  } else {
    return std::complex<double>(x);
  }
}

template <class T>
double dot(const Owned& a, const Owned& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.array().size(); ++i)
    sum += static_cast<double>(a.at<T>(i)) * static_cast<double>(b.at<T>(i));
  return sum;
}

TEST(MatrixMultiply, IsTheSumOfProductsForEveryDtype) {
  dispatch_all([]<class T>() {
    if constexpr (!std::same_as<T, bool> && !std::unsigned_integral<T>) {
      const Owned a = small_numbers<T>({3, 4}, 1), b = small_numbers<T>({4, 2}, 2), c = matmul(a, b);
      ASSERT_EQ(c.shape(), (Shape{3, 2}));
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t j = 0; j < 2; ++j) {
          std::complex<double> sum = 0;
          for (std::int64_t k = 0; k < 4; ++k) sum += number(a.at<T>(i * 4 + k)) * number(b.at<T>(k * 2 + j));
          EXPECT_EQ(number(c.at<T>(i * 2 + j)), sum);
        }
      }
    }
  });
}

TEST(MatrixMultiply, BatchesBroadcast) {
  const Owned a = small_numbers<double>({2, 1, 3, 4}, 3), b = small_numbers<double>({5, 4, 2}, 4), c = matmul(a, b);
  ASSERT_EQ(c.shape(), (Shape{2, 5, 3, 2}));
  for (std::int64_t o = 0; o < 2; ++o) {
    for (std::int64_t p = 0; p < 5; ++p) {
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t j = 0; j < 2; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < 4; ++k)
            sum += a.at<double>((o * 3 + i) * 4 + k) * b.at<double>((p * 4 + k) * 2 + j);
          EXPECT_EQ(c.at<double>(((o * 5 + p) * 3 + i) * 2 + j), sum);
        }
      }
    }
  }
}

TEST(MatrixMultiply, BoolIsOrOfAnds) {
  const Owned c =
      matmul(Owned({1, 2}, std::vector<bool>{true, true}), Owned({2, 2}, std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(c.values<bool>(), (std::vector<bool>{true, false}));
}

TEST(MatrixMultiply, T3_IntegersWrap) {
  const Owned c =
      matmul(Owned({1, 2}, std::vector<std::int8_t>{100, 100}), Owned({2, 1}, std::vector<std::int8_t>{100, 1}));
  EXPECT_EQ(c.at<std::int8_t>(0), static_cast<std::int8_t>(10100));
}

TEST(MatrixMultiply, EmptyInnerDimensionGivesZeros) {
  EXPECT_EQ(matmul(Owned({2, 0}, std::vector<float>{}), Owned({0, 3}, std::vector<float>{})).values<float>(),
            std::vector<float>(6, 0.0F));
  EXPECT_EQ(matmul(Owned({0, 2}, std::vector<float>{}), small_numbers<float>({2, 3}, 1)).shape(), (Shape{0, 3}));
}

TEST(MatrixMultiply, HalfPrecisionRoundsOnce) {
  // 2048 + 1 + 1 + … would stay at 2048 in float16.
  std::vector<float16> ones(1025, float16(1));
  ones[0] = float16(2048);
  const Owned c = matmul(Owned({1, 1025}, ones), Owned({1025, 1}, std::vector<float16>(1025, float16(1))));
  EXPECT_EQ(static_cast<float>(c.at<float16>(0)), 3072);
}

TEST(MatrixMultiply, NanAndInfinityAreNotSkipped) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(
      std::isnan(matmul(Owned({1, 1}, std::vector<float>{0}), Owned({1, 1}, std::vector<float>{inf})).at<float>(0)));
}

TEST(MatrixMultiply, T2_ErrorsNameTheShapes) {
  const auto shapes = [](const Shape& a, const Shape& b) {
    return message_of<ShapeError>([&] { infer_matrix_multiply({DType::float32, a}, {DType::float32, b}); });
  };
  EXPECT_EQ(shapes({128, 784}, {512, 10}), "inner dimensions differ: (128, 784) @ (512, 10)");
  EXPECT_EQ(shapes({3}, {3, 2}), "both operands must have at least two axes, got (3,) @ (3, 2)");
  EXPECT_EQ(shapes({2, 3, 3}, {4, 3, 3}), "shapes (2,), (4,) cannot be broadcast together");
}

// ---- Convolution

/// conv2d written as a sum over a padded copy.
Owned direct_conv2d(const Owned& x, const Owned& w, const ConvolutionAttrs& attrs) {
  const Shape &xs = x.shape(), &ws = w.shape();
  const std::int64_t height = xs[2] + attrs.padding_low[0] + attrs.padding_high[0];
  const std::int64_t width = xs[3] + attrs.padding_low[1] + attrs.padding_high[1];
  const std::int64_t rows = (height - (ws[2] - 1) * attrs.dilation[0] - 1) / attrs.stride[0] + 1;
  const std::int64_t columns = (width - (ws[3] - 1) * attrs.dilation[1] - 1) / attrs.stride[1] + 1;
  const auto padded = [&](std::int64_t n, std::int64_t c, std::int64_t i, std::int64_t j) {
    i -= attrs.padding_low[0];
    j -= attrs.padding_low[1];
    if (i < 0 || j < 0 || i >= xs[2] || j >= xs[3]) return 0.0;
    return x.at<double>(((n * xs[1] + c) * xs[2] + i) * xs[3] + j);
  };
  std::vector<double> out;
  for (std::int64_t n = 0; n < xs[0]; ++n) {
    for (std::int64_t o = 0; o < ws[0]; ++o) {
      const std::int64_t group = o * attrs.groups / ws[0];
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
          double sum = 0;
          for (std::int64_t c = 0; c < ws[1]; ++c) {
            for (std::int64_t p = 0; p < ws[2]; ++p) {
              for (std::int64_t q = 0; q < ws[3]; ++q) {
                sum += padded(n, group * ws[1] + c, i * attrs.stride[0] + p * attrs.dilation[0],
                              j * attrs.stride[1] + q * attrs.dilation[1]) *
                       w.at<double>(((o * ws[1] + c) * ws[2] + p) * ws[3] + q);
              }
            }
          }
          out.push_back(sum);
        }
      }
    }
  }
  return Owned({xs[0], ws[0], rows, columns}, out);
}

TEST(Convolution, AgreesWithADirectFormula) {
  const std::vector<ConvolutionAttrs> settings = {{{1, 1}, {0, 0}, {0, 0}, {1, 1}, 1},
                                                  {{2, 1}, {1, 0}, {2, 1}, {1, 2}, 1},
                                                  {{3, 2}, {2, 2}, {0, 3}, {2, 1}, 2},
                                                  {{1, 2}, {3, 4}, {3, 4}, {1, 1}, 4}};
  for (const ConvolutionAttrs& attrs : settings) {
    const Owned x = small_numbers<double>({2, 4, 7, 6}, 1), w = small_numbers<double>({8, 4 / attrs.groups, 3, 2}, 2);
    const Owned out = run(infer_convolution, reference::convolution, x, w, attrs);
    const Owned expected = direct_conv2d(x, w, attrs);
    EXPECT_EQ(out.shape(), expected.shape());
    EXPECT_EQ(out.values<double>(), expected.values<double>());
  }
}

TEST(Convolution, GradientsAreTheAdjoints) {
  // <conv(x, w), g> = <x, input_grad(g, w)> = <w, weight_grad(g, x)>: all sums of whole numbers, so exactly.
  std::mt19937 engine(5);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine() % static_cast<unsigned>(high - low + 1));
  };
  for (int round = 0; round < 60; ++round) {
    const std::int64_t groups = pick(1, 3), axes = pick(1, 3);
    Shape x_shape{pick(0, 2), groups * pick(1, 2)};
    Shape w_shape{groups * pick(1, 2), x_shape[1] / groups};
    ConvolutionAttrs attrs;
    attrs.groups = groups;
    Ints input_size, kernel_size;
    for (std::int64_t axis = 0; axis < axes; ++axis) {
      kernel_size.push_back(pick(1, 3));
      attrs.dilation.push_back(pick(1, 2));
      attrs.stride.push_back(pick(1, 3));
      attrs.padding_low.push_back(pick(0, 2));
      attrs.padding_high.push_back(pick(0, 2));
      input_size.push_back((kernel_size.back() - 1) * attrs.dilation.back() + pick(1, 4));
    }
    x_shape.append(input_size);
    w_shape.append(kernel_size);
    const Owned x = small_numbers<double>(x_shape, engine()), w = small_numbers<double>(w_shape, engine());
    const Owned y = run(infer_convolution, reference::convolution, x, w, attrs);
    const Owned g = small_numbers<double>(y.shape(), engine());
    const Owned gx = run(infer_convolution_input_grad, reference::convolution_input_grad, g, w,
                         ConvolutionInputGradAttrs{input_size, attrs.stride, attrs.padding_low, attrs.padding_high,
                                                   attrs.dilation, groups});
    const Owned gw = run(infer_convolution_weight_grad, reference::convolution_weight_grad, g, x,
                         ConvolutionWeightGradAttrs{kernel_size, attrs.stride, attrs.padding_low, attrs.padding_high,
                                                    attrs.dilation, groups});
    ASSERT_EQ(gx.shape(), x.shape());
    ASSERT_EQ(gw.shape(), w.shape());
    EXPECT_EQ(dot<double>(y, g), dot<double>(x, gx));
    EXPECT_EQ(dot<double>(y, g), dot<double>(w, gw));
  }
}

TEST(Convolution, EveryNumericDtypeAgreesOnSmallWholeNumbers) {
  const ConvolutionAttrs attrs{{1}, {1}, {1}, {1}, 1};
  const Owned expected =
      run(infer_convolution, reference::convolution, counting<double>({1, 2, 3}), counting<double>({1, 2, 2}), attrs);
  dispatch_all([&]<class T>() {
    if constexpr (!std::same_as<T, bool>) {
      const Owned out =
          run(infer_convolution, reference::convolution, counting<T>({1, 2, 3}), counting<T>({1, 2, 2}), attrs);
      for (std::int64_t i = 0; i < out.array().size(); ++i)
        EXPECT_EQ(number(out.at<T>(i)), number(expected.at<double>(i)));
    }
  });
}

TEST(Convolution, T2_ErrorsSayWhatDoesNotFit) {
  const auto message = [](const Shape& x, const Shape& w, ConvolutionAttrs attrs) {
    return message_of<Error>([&] { infer_convolution({DType::float32, x}, {DType::float32, w}, attrs); });
  };
  const ConvolutionAttrs plain{{1}, {0}, {0}, {1}, 1};
  EXPECT_EQ(message({1, 2, 4}, {3, 2, 5}, plain),
            "a window of 5 (with dilation) does not fit into spatial axis 0 of size 4 (with padding)");
  EXPECT_EQ(message({1, 3, 4}, {3, 2, 2}, plain),
            "the weight takes 2 channels a group and there are 1 groups, but the input has 3 channels");
  EXPECT_NE(message({1, 2}, {3, 2}, plain), "");
  EXPECT_NE(message({1, 2, 4}, {3, 2, 2, 2}, plain), "");
  EXPECT_EQ(message({1, 2, 4}, {3, 2, 2}, {{0}, {0}, {0}, {1}, 1}), "stride must be at least 1, got (0,)");
  EXPECT_EQ(message({1, 2, 4}, {3, 2, 2}, {{1}, {-1}, {0}, {1}, 1}), "padding must be at least 0, got (-1,)");
  EXPECT_NE(message({1, 2, 4}, {3, 2, 2}, {{1, 1}, {0}, {0}, {1}, 1}), "");
  EXPECT_EQ(message({1, 2, 4}, {3, 2, 2}, {{1}, {0}, {0}, {1}, 0}), "groups must be at least 1, got 0");
  EXPECT_EQ(message({1, 4, 4}, {3, 2, 2}, {{1}, {0}, {0}, {1}, 2}), "3 output channels do not divide into 2 groups");
}

}  // namespace
}  // namespace lento::testing

// The neural and random ops as a C++ user calls them: defaults, numbers for lists, optional tensors, several results.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace lento {
namespace {

Tensor ramp(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  std::iota(values.begin(), values.end(), 0.0F);
  return tensor(values, shape);
}

TEST(Neural, ConvolutionTakesPytorchsArguments) {
  const Tensor x = ramp({1, 1, 4, 4});
  const Tensor weight = tensor<float>({{1, 0}, {0, 1}}).reshape({1, 1, 2, 2});
  EXPECT_EQ(nn::conv2d(x, weight).to_vector<float>(), (std::vector<float>{5, 7, 9, 13, 15, 17, 21, 23, 25}));
  const Tensor bias = tensor({100.0F});
  EXPECT_EQ(nn::conv2d(x, weight, bias, {2}).to_vector<float>(), (std::vector<float>{105, 109, 121, 125}));
  EXPECT_EQ(nn::conv2d(x, weight, std::nullopt, {1}, {0}, {1}, 1, "same").shape(), (Shape{1, 1, 4, 4}));
  EXPECT_EQ(nn::conv_transpose2d(nn::conv2d(x, weight), weight).shape(), x.shape());
}

TEST(Neural, PoolingGivesValuesAndPositions) {
  const auto [values, indices] = nn::max_pool2d_with_indices(ramp({1, 4, 4}), {2});
  EXPECT_EQ(values.to_vector<float>(), (std::vector<float>{5, 7, 13, 15}));
  EXPECT_EQ(indices.to_vector<std::int64_t>(), (std::vector<std::int64_t>{5, 7, 13, 15}));
  EXPECT_EQ(nn::avg_pool1d(ramp({1, 4}), {2}).to_vector<float>(), (std::vector<float>{0.5, 2.5}));
  EXPECT_EQ(nn::upsample_nearest1d(ramp({1, 1, 2}), Ints{4}).to_vector<float>(), (std::vector<float>{0, 0, 1, 1}));
}

TEST(Neural, ALayerIsOneExpression) {
  const Tensor x = random::normal({8, 16});
  const Tensor weight = random::normal({4, 16}, 0.0, 0.1);
  const Tensor labels = random::randint({8}, 0, 4);
  const Tensor loss = nn::cross_entropy(nn::linear(nn::layer_norm(x, {16}), weight), labels);
  EXPECT_TRUE(loss.is_pending());
  EXPECT_GT(loss.item<float>(), 0.0F);
  EXPECT_NEAR(sum(softmax(x, 1)).item<float>(), 8.0F, 1e-4F);
}

TEST(Neural, T2_ErrorsNameTheOutermostOpAndThisFile) {
  try {
    nn::linear(ramp({2, 3}), ramp({4, 5}));
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with("linear: ")) << message;
    EXPECT_NE(message.find("(2, 3)"), std::string::npos) << message;
    EXPECT_NE(message.find("neural_test.cpp"), std::string::npos) << message;
  }
}

TEST(Random, T5_TheSeedDecides) {
  random::seed(7);
  const std::vector<float> first = random::normal({100}).to_vector<float>();
  random::seed(7);
  EXPECT_EQ(random::normal({100}).to_vector<float>(), first);
  EXPECT_NE(random::normal({100}).to_vector<float>(), first);
  Generator own(7);
  EXPECT_EQ(random::normal({100}, 0.0, 1.0, std::nullopt, std::nullopt, &own).to_vector<float>(), first);
}

TEST(Random, T5_BothWordSizesAdvanceByBlocks) {
  Generator generator(1);
  random::uniform({3}, 0.0, 1.0, DType::float32, std::nullopt, &generator);
  EXPECT_EQ(generator.state().counter, 1U);
  random::uniform({3}, 0.0, 1.0, DType::float64, std::nullopt, &generator);
  EXPECT_EQ(generator.state().counter, 3U);
  random::permutation(0, std::nullopt, &generator);
  EXPECT_EQ(generator.state().counter, 3U);
}

}  // namespace
}  // namespace lento

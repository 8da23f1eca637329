// Initial values of weights (lento/nn/init.h).
#include <lento/lento.h>
#include <lento/nn/init.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace lento {
namespace {

namespace init = nn::init;

constexpr DType kFloat64 = DType::float64;

double deviation(const Tensor& x) { return lento::std(x).item<double>(); }
double largest(const Tensor& x) { return max(abs(x)).item<double>(); }

TEST(Init, FansDecideTheSize) {
  Generator generator(1);
  const Shape shape{64, 32, 3, 3};  // fan in 288, fan out 576
  EXPECT_NEAR(deviation(init::xavier_normal(shape, 2.0, kFloat64, {}, &generator)), 2 * std::sqrt(2.0 / 864), 1e-3);
  const double bound = std::sqrt(6.0 / 864);
  const Tensor uniform = init::xavier_uniform(shape, 1.0, kFloat64, {}, &generator);
  EXPECT_LE(largest(uniform), bound);
  EXPECT_GT(largest(uniform), 0.99 * bound);
  const Tensor normal = init::kaiming_normal(shape, 0, "fan_out", "relu", kFloat64, {}, &generator);
  EXPECT_NEAR(deviation(normal), std::sqrt(2.0 / 576), 1e-3);
  const double kaiming = std::sqrt(2.0 / (1 + 5)) * std::sqrt(3.0 / 288);
  const Tensor leaky = init::kaiming_uniform(shape, std::sqrt(5.0), "fan_in", "leaky_relu", kFloat64, {}, &generator);
  EXPECT_LE(largest(leaky), kaiming);
  EXPECT_GT(largest(leaky), 0.99 * kaiming);
}

TEST(Init, DrawsAreThoseOfTheRandomFunctions) {
  Generator one(5);
  Generator two(5);
  EXPECT_EQ(init::uniform({7}, -0.5, 0.5, {}, {}, &one).to_vector<float>(),
            random::uniform({7}, -0.5, 0.5, {}, {}, &two).to_vector<float>());
  EXPECT_EQ(init::normal({7}, 1.0, 2.0, {}, {}, &one).to_vector<float>(),
            random::normal({7}, 1.0, 2.0, {}, {}, &two).to_vector<float>());
}

TEST(Init, TruncatedNumbersLieInside) {
  Generator generator(1);
  const Tensor x = init::trunc_normal({10000}, 1.0, 2.0, 0.0, 2.5, kFloat64, {}, &generator);
  EXPECT_GE(min(x).item<double>(), 0.0);
  EXPECT_LE(max(x).item<double>(), 2.5);
  EXPECT_GT(max(x).item<double>(), 2.4);
}

TEST(Init, OrthogonalMatricesAre) {
  for (const Shape& shape : {Shape{5, 3}, Shape{3, 5}, Shape{4, 2, 2}, Shape{4, 4}}) {
    const Tensor q = init::orthogonal(shape, 2.0, kFloat64);
    ASSERT_EQ(q.shape(), shape);
    const std::int64_t rows = shape[0];
    const std::int64_t columns = q.size() / rows;
    const Tensor m = reshape(q, {rows, columns});
    const Tensor product = rows > columns ? matmul(matrix_transpose(m), m) : matmul(m, matrix_transpose(m));
    EXPECT_LT(largest(product - 4 * eye(std::min(rows, columns), std::nullopt, 0, kFloat64)), 1e-12);
  }
  EXPECT_EQ(init::orthogonal({3, 3}, 1.0, DType::bfloat16).dtype(), DType::bfloat16);
}

TEST(Init, ConstantsAreFloats) {
  EXPECT_EQ(init::constant({2}, 3).to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_EQ(init::ones({2}, kFloat64).to_vector<double>(), (std::vector<double>{1, 1}));
  EXPECT_EQ(init::zeros({1}).to_vector<float>(), (std::vector<float>{0}));
  EXPECT_EQ(init::calculate_gain("tanh"), 5.0 / 3);
}

template <class F>
void expect_error(F&& function, std::string_view beginning) {
  try {
    function();
    ADD_FAILURE() << "no error: " << beginning;
  } catch (const Error& error) {
    EXPECT_TRUE(std::string_view(error.what()).starts_with(beginning)) << error.what();
  }
}

TEST(Init, WrongArgumentsAreNamed) {
  expect_error([] { init::xavier_normal({3}); },
               "xavier_normal: a shape of less than two axes has no fan in and fan out: (3,), at init_test.cpp:");
  expect_error([] { init::kaiming_normal({3, 3}, 0, "fan"); }, "kaiming_normal: mode is 'fan_in' or 'fan_out'");
  expect_error([] { init::calculate_gain("gelu"); }, "calculate_gain: nonlinearity is one of 'linear'");
  expect_error([] { init::trunc_normal({3}, 0, 1, 2, 1); }, "trunc_normal: a is 2.0, which is not less than b, 1.0");
  expect_error([] { init::orthogonal({3}); }, "orthogonal: a shape of less than two axes is no matrix: (3,)");
}

}  // namespace
}  // namespace lento

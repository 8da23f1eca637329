// Densities and the distributions they belong to, as C++ calls them. Their values are compared with SciPy's in
// tests/python; here are their names, defaults, derivatives and errors.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <cmath>

namespace lento {
namespace {

TEST(Stats, DensitiesTakeTensorsAndNumbers) {
  const Tensor x = tensor({0.0, 1.0});
  EXPECT_DOUBLE_EQ(stats::norm_pdf(x).to_vector<double>()[0], 1 / std::sqrt(2 * M_PI));
  EXPECT_DOUBLE_EQ(stats::expon_logpdf(x, 0, 2.0).to_vector<double>()[1], -0.5 - std::log(2.0));
  EXPECT_DOUBLE_EQ(stats::poisson_logpmf(tensor({2}), tensor({3.0})).to_vector<double>()[0], std::log(4.5) - 3);
  EXPECT_NEAR(stats::multivariate_normal_logpdf(zeros({2}), zeros({2}), eye(2)).item<float>(), -std::log(2 * M_PI),
              1e-6);
}

TEST(Stats, LikelihoodsHaveGradients) {
  const Tensor k = tensor({1, 0, 1});
  const auto likelihood = [&](const Tensor& p) { return sum(stats::bernoulli_logpmf(k, p)); };
  EXPECT_FLOAT_EQ(grad(likelihood)(tensor(0.5F)).item<float>(), 2);
}

TEST(Stats, ErrorsNameTheFunctionAndTheLine) {
  try {
    (void)stats::multivariate_normal_logpdf(zeros({3}), zeros({3}), eye(2));
    FAIL();
  } catch (const ShapeError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("multivariate_normal_logpdf: cov must be 3 by 3"), std::string::npos) << text;
    EXPECT_NE(text.find("stats_test.cpp:"), std::string::npos) << text;
  }
}

TEST(Random, DrawsOfFurtherFamiliesFollowFromTheSeed) {
  const auto draw = [] {
    Generator generator(3);
    return std::vector{random::beta({4}, 2.0, 3.0, {}, {}, &generator), random::dirichlet(ones({4}), {}, &generator),
                       astype(random::poisson({4}, 20.0, {}, {}, &generator), DType::float32),
                       astype(random::binomial({4}, 10, 0.5, {}, {}, &generator), DType::float32),
                       random::multivariate_normal(zeros({4}), eye(4), {}, &generator)};
  };
  const std::vector<Tensor> first = draw();
  const std::vector<Tensor> second = draw();
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].shape(), (Shape{4}));
    EXPECT_EQ(first[i].to_vector<float>(), second[i].to_vector<float>());
  }
}

}  // namespace
}  // namespace lento

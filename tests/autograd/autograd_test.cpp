// Derivatives as users of C++ take them.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

namespace lento {
namespace {

Tensor numbers(std::initializer_list<double> values) { return tensor(values); }
std::vector<double> read(const Tensor& x) { return x.to_vector<double>(); }

TEST(Autograd, GradientsOfFunctionsOfOneTensor) {
  const auto cube = [](const Tensor& x) { return sum(x * x * x); };
  EXPECT_EQ(read(grad(cube)(numbers({1, 2}))), (std::vector<double>{3, 12}));
  const auto f = [](const Tensor& x) { return sin(x); };
  EXPECT_NEAR(grad(grad(grad(f)))(scalar_tensor(0.5)).item<double>(), -std::cos(0.5), 1e-14);
}

TEST(Autograd, ValueAndGradientsByAllArguments) {
  const auto loss = [](const Tensor& w, const Tensor& b) { return sum((w * 3 + b) * (w * 3 + b)); };
  const auto [value, grads] = value_and_grad<0, 1>(loss)(numbers({1}), numbers({2}));
  EXPECT_EQ(value.item<double>(), 25);
  EXPECT_EQ(read(std::get<0>(grads)), std::vector<double>{30});
  EXPECT_EQ(read(std::get<1>(grads)), std::vector<double>{10});
}

TEST(Autograd, VjpAndJvpAreTransposes) {
  const auto f = [](const std::vector<Tensor>& x) { return std::vector<Tensor>{tanh(x[0]) * x[1], sum(x[1])}; };
  const std::vector<Tensor> inputs{numbers({0.1, 0.2}), numbers({3, 4})};
  const std::vector<Tensor> tangents{numbers({1, -1}), numbers({2, 0.5})};
  const std::vector<Tensor> cotangents{numbers({0.3, 0.7}), scalar_tensor(2.0)};
  const auto [outputs, pull] = vjp(f, inputs);
  const auto [pulled] = pull(cotangents);
  const std::vector<Tensor> pushed = jvp(f, inputs, tangents).tangent;
  double left = 0;
  double right = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    left += sum(pulled[i] * tangents[i]).item<double>();
    right += sum(pushed[i] * cotangents[i]).item<double>();
  }
  EXPECT_NEAR(left, right, 1e-14);
}

TEST(Autograd, FollowsOnlyItsOwnThread) {
  Differentiation differentiation;
  const Tensor x = differentiation.follow(numbers({2}));
  Tensor elsewhere;
  std::thread([&] { elsewhere = x * x; }).join();
  const Tensor here = x * 3;
  differentiation.end();
  const Tensor one = numbers({1});
  EXPECT_EQ(read(differentiation.pull_back({here}, {one}, {x})[0]), std::vector<double>{3});
  EXPECT_EQ(read(differentiation.pull_back({elsewhere}, {one}, {x})[0]), std::vector<double>{0});
}

TEST(Autograd, NothingIsFollowedAfterTheEnd) {
  Differentiation differentiation;
  const Tensor x = differentiation.follow(numbers({2}));
  differentiation.end();
  differentiation.end();
  EXPECT_EQ(read(differentiation.pull_back({x * x}, {numbers({1})}, {x})[0]), std::vector<double>{0});
}

TEST(Autograd, EndsInAnyOrder) {
  auto outer = std::make_unique<Differentiation>();
  const Tensor x = outer->follow(numbers({2}));
  Differentiation inner;
  const Tensor y = inner.follow(x);
  outer->end();
  const Tensor z = y * y;
  inner.end();
  EXPECT_EQ(read(inner.pull_back({z}, {numbers({1})}, {y})[0]), std::vector<double>{4});
  EXPECT_EQ(read(outer->pull_back({z}, {numbers({1})}, {x})[0]), std::vector<double>{0});
}

TEST(Autograd, CustomGradientsAndConstants) {
  const TensorFunction identity = [](const std::vector<Tensor>& x) { return x; };
  const BackwardFunction tenfold = [](const std::vector<Tensor>&, const std::vector<Tensor>&,
                                      const std::vector<Tensor>& cotangents) {
    return std::vector<Tensor>{cotangents[0] * 10};
  };
  const auto f = [&](const Tensor& x) { return sum(custom_gradient(identity, tenfold, {x})[0] * x); };
  EXPECT_EQ(read(grad(f)(numbers({3}))), std::vector<double>{30 + 3});
  EXPECT_EQ(read(grad([](const Tensor& x) { return sum(x * stop_gradient(x)); })(numbers({3}))),
            std::vector<double>{3});
}

TEST(Autograd, CheckpointsDrawTheSameAgainFromAnyGenerator) {
  Generator generator(5);
  const TensorFunction scaled = [&](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{x[0] * random::uniform({3}, 0.0, 1.0, DType::float64, {}, &generator) *
                               random::uniform({3}, 0.0, 1.0, DType::float64)};
  };
  const auto f = [&](const Tensor& x) { return checkpoint(scaled, {x})[0]; };
  const auto [value, pull] = vjp(f, numbers({1, 1, 1}));
  const Generator::State own = generator.state();
  const Generator::State common = default_generator().state();
  EXPECT_EQ(read(std::get<0>(pull(numbers({1, 1, 1})))), read(value));
  EXPECT_EQ(generator.state(), own);
  EXPECT_EQ(default_generator().state(), common);
}

TEST(Autograd, FunctionsThatAreHeldAreVisitedUntilTheyAreForgotten) {
  const TensorFunction identity = [](const std::vector<Tensor>& x) { return x; };
  const BackwardFunction tenfold = [](const std::vector<Tensor>&, const std::vector<Tensor>&,
                                      const std::vector<Tensor>& cotangents) { return cotangents; };
  Differentiation differentiation;
  const Tensor x = differentiation.follow(numbers({1}));
  (void)custom_gradient(identity, tenfold, checkpoint(identity, {x}));
  // Once for the example that stands for all, once for all of them.
  (void)vmap([&](const Tensor& one) { return checkpoint(identity, {one}); })(x);
  differentiation.end();
  int backward = 0;
  int recomputed = 0;
  const auto count = [&] {
    differentiation.visit_functions([&](const BackwardFunction&) { ++backward; },
                                    [&](const TensorFunction&) { ++recomputed; });
  };
  count();
  differentiation.forget();
  count();
  EXPECT_EQ(backward, 1);
  EXPECT_EQ(recomputed, 3);
}

TEST(Autograd, ErrorsSayWhatIsWrong) {
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const Tensor x = numbers({1, 2});
  EXPECT_NE(message([&] { grad([](const Tensor& y) { return y; })(x); }).find("must give a scalar"), std::string::npos);
  EXPECT_NE(message([&] { grad([](const Tensor& y) { return sum(nextafter(y, y + 1)); })(x); }).find("'nextafter'"),
            std::string::npos);
  Differentiation differentiation;
  EXPECT_NE(message([&] { (void)differentiation.follow(tensor({1, 2})); }).find("int32"), std::string::npos);
  const Tensor y = differentiation.follow(x);
  EXPECT_NE(message([&] { (void)differentiation.pull_back({y}, {numbers({1})}, {y}); }).find("shape"),
            std::string::npos);
}

}  // namespace
}  // namespace lento

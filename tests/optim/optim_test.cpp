// Optimizers in C++ (lento/optim.h): what they compute, their state, and what they refuse.
#include <lento/lento.h>
#include <lento/nn/module.h>
#include <lento/optim.h>

#include "optim/expect_error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <map>

namespace lento {
namespace {

using Dict = std::map<std::string, Tensor>;

struct Layer : nn::Module {
  Tensor weight = tensor({1.0, -2.0});
  Tensor bias = tensor({0.5});
  Tensor calls = zeros({}, DType::int64);
  nn::Buffer mean = zeros({2});
  LENTO_FIELDS(weight, bias, calls, mean)
};

struct Net : nn::Module {
  std::vector<Layer> layers{2};
  LENTO_FIELDS(layers)
};

TEST(Optimizers, AdamIsItsFormula) {
  Tensor p = tensor({1.0, -2.0});
  optim::Adam optimizer(p, {.lr = 0.1});
  std::vector<double> w{1.0, -2.0};
  std::vector<double> m(2);
  std::vector<double> v(2);
  for (int t = 1; t <= 5; ++t) {
    optimizer.step(p, 2 * p);
    for (std::size_t i = 0; i < 2; ++i) {
      const double g = 2 * w[i];
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.999 * v[i] + 0.001 * g * g;
      w[i] -= 0.1 * (m[i] / (1 - std::pow(0.9, t))) / (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
      EXPECT_NEAR(p.to_vector<double>()[i], w[i], 1e-12);
    }
  }
  EXPECT_EQ(optimizer.step_count, 5);
}

TEST(Optimizers, MomentumAndNesterovAreTheirFormulas) {
  for (const bool nesterov : {false, true}) {
    Tensor p = tensor({3.0});
    optim::SGD optimizer(p, {.lr = 0.5, .momentum = 0.5, .weight_decay = 0.25, .nesterov = nesterov});
    double w = 3;
    double velocity = 0;
    for (int i = 0; i < 4; ++i) {
      const double g = i + 0.25 * w;
      optimizer.step(p, full({1}, i, DType::float64));
      velocity = 0.5 * velocity + g;
      w -= 0.5 * (nesterov ? g + 0.5 * velocity : velocity);
      EXPECT_EQ(p.item<double>(), w);
    }
  }
}

TEST(Optimizers, LionGoesByTheSign) {
  Tensor p = tensor({1.0, -2.0});
  optim::Lion optimizer(p, {.lr = 0.25, .weight_decay = 0.5});
  optimizer.step(p, tensor({3.0, 0.0}));
  EXPECT_EQ(p.to_vector<double>(), (std::vector<double>{1 - 0.125 - 0.25, -2 + 0.25}));
}

TEST(Optimizers, TheFirstStepsOfRAdamDoNotLookAtTheSquares) {
  Tensor p = ones({1});
  optim::RAdam optimizer(p, {.lr = 1e-3});
  optimizer.step(p, full({1}, 1e25));  // whose square is infinite in float32
  EXPECT_NEAR(p.item<float>() / -1e22, 1.0, 1e-5);
}

TEST(Optimizers, TrainModulesByNameAndLeaveBuffersAlone) {
  Layer layer;
  optim::SGD optimizer(layer, {.lr = 0.25, .momentum = 0.5});
  const auto loss = [](const Layer& l) { return sum(l.weight * l.weight) + sum(l.bias); };
  for (int i = 0; i < 2; ++i) {
    const auto [value, gradients] = value_and_grad(loss)(layer);
    optimizer.step(layer, gradients);
  }
  EXPECT_EQ(layer.bias.item<double>(), 0.5 - 0.25 - 0.375);
  EXPECT_EQ(layer.calls.item<int>(), 0);
  EXPECT_EQ(names(optimizer.state_dict()),
            (std::vector<std::string>{"step_count", "lr", "momentum_buffer.weight", "momentum_buffer.bias"}));
}

TEST(Optimizers, TakeAnyTree) {
  Dict parameters{{"n", arange(3)}, {"w", ones({2})}};
  optim::SGD optimizer(parameters, {.lr = 1});
  optimizer.step(parameters, Dict{{"n", arange(3)}, {"w", full({2}, 3.0)}});
  EXPECT_EQ(parameters["w"].to_vector<float>(), (std::vector<float>{-2, -2}));
  EXPECT_EQ(parameters["n"].to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2}));
  Net net;
  EXPECT_EQ(names(optim::Adam(net).state_dict()).back(), "exp_avg_sq.layers.1.bias");
  const Tensor alone = ones({2});
  EXPECT_TRUE(optim::Lion(alone).state_dict().contains("exp_avg.0"));
}

TEST(Optimizers, GradientsAreFoundByName) {
  Layer layer;
  optim::SGD(layer, {.lr = 1.0}).step(layer, TensorDict{{"bias", ones({1})}, {"weight", zeros({2})}});
  EXPECT_EQ(layer.bias.item<double>(), -0.5);
  EXPECT_EQ(layer.weight.dtype(), DType::float64);
}

TEST(Optimizers, ACopyTrainsOnByItself) {
  Layer layer;
  optim::AdamW optimizer(layer, {.lr = 0.1});
  const Layer gradients = layer;
  optimizer.step(layer, gradients);
  Layer other = layer;
  optim::AdamW copy = optimizer;
  optimizer.step(layer, gradients);
  EXPECT_EQ(copy.step_count, 1);
  copy.step(other, gradients);
  EXPECT_EQ(layer.weight.to_vector<double>(), other.weight.to_vector<double>());
  Layer moved = std::move(other);
  copy.step(moved, gradients);
  EXPECT_EQ(copy.step_count, 3);
}

TEST(Optimizers, FollowASchedule) {
  Tensor w = zeros({1});
  optim::SGD optimizer(w, {.lr = optim::linear(1.0, 0.0, 4)});
  std::vector<float> values;
  for (int i = 0; i < 5; ++i) {
    optimizer.step(w, full({1}, -1.0));
    values.push_back(w.item<float>());
  }
  EXPECT_EQ(values, (std::vector<float>{1, 1.75, 2.25, 2.5, 2.5}));
  EXPECT_FALSE(optimizer.state_dict().contains("lr"));
  optimizer.lr = [](std::int64_t step) { return static_cast<double>(step); };
  EXPECT_EQ(optimizer.learning_rate(), 5.0);
}

TEST(Optimizers, ResumeFromTheirState) {
  Layer layer;
  optim::Adam optimizer(layer, {.lr = 0.1});
  const Layer gradients = layer;
  for (int i = 0; i < 3; ++i) optimizer.step(layer, gradients);
  Layer resumed = layer;
  optim::Adam again(resumed, {.lr = 0.7});
  again.load_state_dict(optimizer.state_dict());
  EXPECT_EQ(again.step_count, 3);
  EXPECT_EQ(again.learning_rate(), 0.1);
  optimizer.step(layer, gradients);
  again.step(resumed, gradients);
  EXPECT_EQ(layer.weight.to_vector<double>(), resumed.weight.to_vector<double>());
}

TEST(Optimizers, AStateThatDoesNotFitChangesNothing) {
  const Layer layer;
  optim::Adam optimizer(layer, {.lr = 0.1});
  const TensorDict good = optimizer.state_dict();
  TensorDict state = good;
  state.erase("exp_avg.bias");
  state["step_count"] = full({}, 7, DType::int64);
  expect_error([&] { optimizer.load_state_dict(state); }, "Adam.load_state_dict: missing: exp_avg.bias");
  state = good;
  state["step_count"] = full({}, -1, DType::int64);
  expect_error([&] { optimizer.load_state_dict(state); },
               "Adam.load_state_dict: a step_count of -1 is less than none, at optim_test.cpp:");
  for (const double count : {9.3e18, 2.5, std::nan("")}) {
    state["step_count"] = full({}, count, DType::float64);
    expect_error([&] { optimizer.load_state_dict(state); }, "Adam.load_state_dict: step_count is ");
  }
  state = good;
  state["lr"] = full({}, -1.0, DType::float64);
  expect_error([&] { optimizer.load_state_dict(state); }, "Adam.load_state_dict: lr is -1.0");
  EXPECT_EQ(optimizer.step_count, 0);
  EXPECT_EQ(optimizer.learning_rate(), 0.1);
}

TEST(Optimizers, LearningRatesAndStepsCompileNothing) {
  Tensor p = ones({4});
  const Tensor g = ones({4});
  optim::AdamW optimizer(p, {.lr = 0.1});
  const auto run = [&] {
    optimizer.step(p, g);
    step();
    wait();
  };
  for (int i = 0; i < 4; ++i) run();
  const auto before = metrics::counter("plan.miss");
  for (const double rate : {0.0, 1.0, 0.5, 2.0}) {
    optimizer.lr = rate;
    run();
  }
  EXPECT_EQ(metrics::counter("plan.miss"), before);
}

TEST(Optimizers, SettingsOutOfRangeAreRefused) {
  const Tensor w = ones({2});
  expect_error([&] { optim::SGD(w, {.lr = -0.1}); }, "SGD: lr is -0.1, which is less than 0 or no number");
  expect_error([&] { optim::SGD(w, {.lr = 0.1, .nesterov = true}); }, "SGD: nesterov needs a momentum");
  expect_error([&] { optim::AdamW(w, {.weight_decay = -1}); }, "AdamW: weight_decay is -1.0");
  expect_error([&] { optim::Lion(w, {.betas = {0.9, 1.0}}); },
               "Lion: betas are two numbers from 0 to less than 1, not (0.9, 1.0), at optim_test.cpp:");
  expect_error([&] { optim::SGD(arange(3), {.lr = 0.1}); }, "SGD: there is no floating tensor to train");
  expect_error([&] { optim::SGD(w, {.lr = optim::Schedule()}); }, "SGD: lr is an empty function");
}

TEST(Optimizers, WhatDoesNotFitIsAnErrorAndChangesNothing) {
  Dict parameters{{"a", ones({2})}, {"b", ones({2})}};
  optim::Adam optimizer(parameters);
  const auto step_with = [&](const Tensor& b) {
    return [&parameters, &optimizer, b] { optimizer.step(parameters, Dict{{"a", ones({2})}, {"b", b}}); };
  };
  expect_error(step_with(ones({3})), "Adam.step: b has shape (2,), but its gradient (3,), at optim_test.cpp:");
  expect_error(step_with(ones({2}, DType::complex64)), "Adam.step: b is float32, but its gradient complex64");
  expect_error(step_with({}), "Adam.step: the gradient of b is an empty handle");
  expect_error([&] { optimizer.step(parameters, std::vector<Tensor>{ones({2})}); },
               "Adam.step: what is given as gradients: the leaves are ['0'] instead of ['a', 'b']");
  EXPECT_EQ(optimizer.step_count, 0);
  EXPECT_EQ(parameters["a"].to_vector<float>(), (std::vector<float>{1, 1}));
  parameters["b"] = ones({2}, DType::float64);
  expect_error(step_with(ones({2})), "Adam.step: b is not as it was when the optimizer was made");
  parameters["c"] = ones({2});
  expect_error(step_with(ones({2})), "Adam.step: b, c is not as it was");
}

TEST(Optimizers, NameTheTensorThatIsMissing) {
  Dict parameters{{"a", ones({2})}, {"b", ones({3})}, {"c", ones({4})}};
  optim::Adam optimizer(parameters);
  parameters.erase("a");
  expect_error([&] { optimizer.step(parameters, parameters); }, "Adam.step: a is not as it was");
}

TEST(Optimizers, AdamTakesARealGradientOfAComplexParameter) {
  Tensor p = full({1}, std::complex<double>(1, 2), DType::complex128);
  optim::Adam(p, {.lr = 0.5}).step(p, tensor({3.0}));
  const auto value = p.item<std::complex<double>>();
  EXPECT_NEAR(value.real(), 0.5, 1e-6);
  EXPECT_EQ(value.imag(), 2);
}

/// An optimizer of one's own: steps in the direction of the gradient's sign, two at most.
class SignSGD : public optim::Optimizer {
 public:
  SignSGD(const Tensor& x, double rate) : Optimizer("SignSGD", optim::Trained(x), rate, {"calls"}) {}

 private:
  void update(Tensor& p, const Tensor& g, std::span<Tensor> kept, double rate, std::int64_t step) override {
    p -= rate * sign(g);
    kept[0] += 1;
    if (step > 2) throw ValueError("no more");
  }
};

TEST(Optimizers, OnesOwnKeepStateAndChangeNothingWhereTheyThrow) {
  Tensor p = ones({1});
  SignSGD optimizer(p, 0.5);
  for (int i = 0; i < 2; ++i) optimizer.step(p, full({1}, 7.0));
  EXPECT_THROW(optimizer.step(p, full({1}, 7.0)), ValueError);
  EXPECT_EQ(p.item<float>(), 0);
  EXPECT_EQ(optimizer.step_count, 2);
  EXPECT_EQ(optimizer.state_dict().at("calls.0").item<float>(), 2);
}

TEST(Schedules, AreThoseOfPython) {
  EXPECT_EQ(optim::constant(0.5)(99), 0.5);
  const auto linear = optim::linear(1.0, 0.0, 4);
  EXPECT_EQ(linear(1), 0.75);
  EXPECT_EQ(linear(9), 0.0);
  const auto cosine = optim::cosine(2.0, 4, 1.0);
  EXPECT_DOUBLE_EQ(cosine(1), 1.5 + std::sqrt(0.125));
  EXPECT_EQ(cosine(4), 1.0);
  EXPECT_EQ(optim::steps(8.0, 3, 0.5)(6), 2.0);
  EXPECT_EQ(optim::warmup(linear, 2)(0), 0.5);
  EXPECT_EQ(optim::warmup(linear, 2)(3), 0.75);
  EXPECT_EQ(optim::warmup(3.0, 2)(7), 3.0);
  expect_error([] { optim::steps(1.0, 0); }, "steps: every is 0, which is less than 1, at optim_test.cpp:");
}

TEST(Schedules, OfNoStepsAreAtTheirEndAtOnce) {
  EXPECT_EQ(optim::linear(1.0, 0.25, 0)(0), 0.25);
  EXPECT_EQ(optim::cosine(1.0, 0, 0.5)(0), 0.5);
  EXPECT_EQ(optim::warmup(optim::linear(1.0, 0.0, 4), 0)(0), 1.0);
}

TEST(Schedules, RefuseANegativeNumberOfStepsAndNoSchedule) {
  const std::string line = std::to_string(__LINE__ + 1);
  expect_error([] { optim::warmup(optim::constant(1), -1); }, "warmup: steps is -1, which is less than 0", ":" + line);
  expect_error([] { optim::cosine(0.1, -2); }, "cosine: steps is -2, which is less than 0, at optim_test.cpp:");
  expect_error([] { optim::linear(1.0, 0.0, -3); }, "linear: steps is -3, which is less than 0, at optim_test.cpp:");
  expect_error([] { optim::warmup(optim::Schedule(), 1); }, "warmup: the schedule is an empty function");
}

TEST(Optimizers, ThatWereMovedFromSaySo) {
  Net net;
  optim::Adam optimizer(net, {.lr = 0.1});
  const auto loss = [](const Net& n) { return n.layers[0].weight.sum() * n.layers[1].bias.sum(); };
  const Net grads = grad(loss)(net);
  optim::Adam moved = std::move(optimizer);
  expect_error([&] { optimizer.step(net, grads); }, "Adam.step: the optimizer was moved from", "optim_test.cpp:");
  expect_error([&] { (void)optimizer.state_dict(); }, "Adam.state_dict: the optimizer was moved from");
  expect_error([&] { optimizer.load_state_dict(moved.state_dict()); }, "Adam.load_state_dict: the optimizer was moved");
  const Net other = std::move(net);
  expect_error([&] { moved.step(net, grads); }, "Adam.step: what is to be trained has no tensors; was it moved from?");
}

TEST(Clipping, ScalesTreesByTheirCommonNorm) {
  const Dict tree{{"a", tensor({3.0f, 0.0f})}, {"b", tensor({4.0f})}, {"n", arange(2)}};
  const auto [clipped, norm] = optim::clip_grad_norm(tree, 2.5);
  EXPECT_EQ(norm.item<float>(), 5);
  EXPECT_NEAR(clipped.at("a").to_vector<float>()[0], 1.5, 1e-6);
  EXPECT_EQ(clipped.at("n").dtype(), DType::int64);
  EXPECT_EQ(optim::clip_grad_norm(tree, 100).first.at("b").item<float>(), 4);
  EXPECT_EQ(optim::clip_grad_value(tree, 3.5).at("b").item<float>(), 3.5f);
  const Tensor half = full({4}, 300.0, DType::float16);
  EXPECT_EQ(optim::clip_grad_norm(std::vector{half}, 1.0).second.item<float>(), 600);
  expect_error([&] { optim::clip_grad_norm(tree, -1.0); }, "clip_grad_norm: max_norm is -1.0");
  expect_error([] { optim::clip_grad_norm(std::vector<Tensor>{}, 1.0); }, "clip_grad_norm: there are no gradients");
}

}  // namespace
}  // namespace lento

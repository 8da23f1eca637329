// nn::Sequential holds modules and functions by value.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace lento {
namespace {

using nn::Sequential;

TEST(Sequential, IsNamedAndShownAsInPython) {
  const Sequential model{nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 2)};
  std::vector<std::string> names;
  for (const auto& [name, tensor] : model.parameters()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias"}));
  std::ostringstream out;
  out << model;
  EXPECT_EQ(out.str(), "Sequential(\n  (0): Linear(4, 8)\n  (1): ReLU()\n  (2): Linear(8, 2)\n)");
  EXPECT_EQ(model(ones({3, 4})).shape(), (Shape{3, 2}));
  EXPECT_EQ(model.size(), 3U);
}

TEST(Sequential, TakesFunctionsAndOtherSequentials) {
  Sequential model(nn::Linear(2, 2), nn::relu, [](const Tensor& x) { return x * 2; }, Sequential(nn::Tanh()));
  EXPECT_EQ(model.to_string(), "Sequential(\n  (0): Linear(2, 2)\n  (3): Sequential(\n    (0): Tanh()\n  )\n)");
  const Tensor x = ones({1, 2});
  const auto& layer = model.at<nn::Linear>(0);
  EXPECT_EQ(model(x).to_vector<float>(), tanh(nn::relu(layer(x)) * 2).to_vector<float>());
  EXPECT_EQ(Sequential()(x).id(), x.id());
}

TEST(Sequential, ACopyHasWeightsOfItsOwn) {
  Sequential model(nn::Linear(2, 2), nn::BatchNorm(2));
  const Sequential copy = model;
  const auto before = copy(ones({3, 2})).to_vector<float>();
  model.at<nn::Linear>(0).weight += 1;
  model.eval();
  EXPECT_EQ(copy(ones({3, 2})).to_vector<float>(), before);
  EXPECT_TRUE(copy.at<nn::BatchNorm>(1).training);
  model = copy;
  EXPECT_EQ(model.at<nn::Linear>(0).weight.id(), copy.at<nn::Linear>(0).weight.id());
}

TEST(Sequential, OnlyOneThatIsNotConstantChanges) {
  struct Counter : nn::Module {
    nn::Buffer calls = zeros({}, DType::int64);
    Tensor operator()(const Tensor& x) {
      calls = calls + 1;
      return x;
    }
    LENTO_FIELDS(calls)
  };
  Sequential model{Counter()};
  std::as_const(model)(ones({1}));
  EXPECT_EQ(model.at<Counter>(0).calls.item<int>(), 0);
  model(ones({1}));
  EXPECT_EQ(model.at<Counter>(0).calls.item<int>(), 1);
}

TEST(Sequential, TrainAndEvalReachEveryStep) {
  Sequential model{nn::Dropout(), Sequential{nn::Dropout()}};
  model.eval();
  EXPECT_EQ(model.modules().size(), 4U);
  for (const nn::Module* module : model.modules()) EXPECT_FALSE(module->training);
}

TEST(Sequential, SaysWhatIsNoStepOfIt) {
  Sequential model{nn::ReLU()};
  try {
    model.at<nn::ReLU>(3);
    FAIL();
  } catch (const IndexError& error) {
    EXPECT_EQ(std::string(error.what()),
              "Sequential::at(): there are 1 steps, and none with the number 3, at "
              "sequential_test.cpp:" +
                  std::to_string(__LINE__ - 6));
  }
  EXPECT_THROW(model.at<nn::Tanh>(0), ValueError);
}

}  // namespace
}  // namespace lento

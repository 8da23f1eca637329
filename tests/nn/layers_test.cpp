// Layers of the catalogue (ops/layers.yaml) and those that are more: names, looks, options, errors. That they compute
// what Python's do, bit by bit, is tested by tests/python/test_nn_cpp.py.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace lento {
namespace {

std::vector<std::string> names(const TensorDict& dict) {
  std::vector<std::string> found;
  for (const auto& [name, tensor] : dict) found.push_back(name);
  return found;
}

template <class F>
std::string error_of(F&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string here(int line) { return ", at layers_test.cpp:" + std::to_string(line); }

using Names = std::vector<std::string>;

struct Net : nn::Module {
  nn::Linear first{4, 8};
  nn::Conv2d conv{3, 8, 3, {.stride = 2, .padding = 1}};
  std::vector<nn::LayerNorm> norms{nn::LayerNorm(8), nn::LayerNorm({2, 4})};
  Tensor operator()(const Tensor& x) const { return norms[0](first(x)); }
  LENTO_FIELDS(first, conv, norms)
};

TEST(Layers, HaveTheShapesAndNamesOfPyTorch) {
  const Net net;
  EXPECT_EQ(names(net.parameters()), (Names{"first.weight", "first.bias", "conv.weight", "conv.bias", "norms.0.weight",
                                            "norms.0.bias", "norms.1.weight", "norms.1.bias"}));
  EXPECT_EQ(net.conv.weight.shape(), (Shape{8, 3, 3, 3}));
  EXPECT_EQ(net.norms[1].weight->shape(), (Shape{2, 4}));
  EXPECT_EQ(net(ones({5, 4})).shape(), (Shape{5, 8}));
  EXPECT_EQ(net.conv(ones({1, 3, 6, 6})).shape(), (Shape{1, 8, 3, 3}));
}

TEST(Layers, LookAsInPython) {
  std::ostringstream out;
  out << Net();
  EXPECT_EQ(out.str(),
            "Net(\n  (first): Linear(4, 8)\n  (conv): Conv2d(3, 8, kernel_size=(3, 3), stride=2, padding=1)\n"
            "  (norms.0): LayerNorm((8,), eps=1e-05)\n  (norms.1): LayerNorm((2, 4), eps=1e-05)\n)");
}

TEST(Layers, KeepWhatTheyWereMadeWith) {
  const nn::Conv1d conv(4, 6, 5, {.padding = "same", .groups = 2, .bias = false, .dtype = DType::float64});
  EXPECT_EQ(conv.kernel_size, (Ints{5}));
  EXPECT_EQ(conv.padding.word(), "same");
  EXPECT_EQ(conv.groups, 2);
  EXPECT_FALSE(conv.bias);
  EXPECT_EQ(conv.weight.dtype(), DType::float64);
  EXPECT_EQ(conv.to_string(), "Conv1d(4, 6, kernel_size=(5,), padding=same, groups=2, bias=False)");
  const nn::Embedding table(5, 3, {.padding_idx = -1});
  EXPECT_EQ(table.padding_idx, 4);
  EXPECT_EQ(table.weight.slice(0, 4, 5).to_vector<float>(), (std::vector<float>{0, 0, 0}));
}

TEST(Layers, AreValues) {
  nn::Linear layer(2, 2);
  const nn::Linear copy = layer;
  const auto before = layer.weight.to_vector<float>();
  layer.weight += 1;
  EXPECT_EQ(copy.weight.to_vector<float>(), before);
  EXPECT_NE(layer.weight.to_vector<float>(), before);
  layer.load_state_dict(copy.state_dict());
  EXPECT_EQ(layer.weight.to_vector<float>(), before);
}

TEST(Layers, RefuseWhatDoesNotFitAndNameTheLine) {
  EXPECT_EQ(error_of([] { nn::Linear(-1, 2); }),
            "Linear(): in_features is -1, which is less than 0" + here(__LINE__ - 1));
  EXPECT_EQ(error_of([] { nn::Conv2d(4, 4, 3, {.groups = 0}); }),
            "Conv2d(): 4 channels in 0 groups do not come out even" + here(__LINE__ - 1));
  EXPECT_EQ(error_of([] { nn::Conv2d(4, 4, {3, 3, 3}); }),
            "Conv2d(): kernel_size (3, 3, 3) has 3 numbers, not 2" + here(__LINE__ - 1));
  EXPECT_EQ(error_of([] { nn::Dropout({.p = 2}); }), "Dropout(): p is a probability, not 2.0" + here(__LINE__));
  EXPECT_EQ(error_of([] { nn::GELU({.approximate = "tahn"}); }),
            "GELU(): approximate is one of 'none', 'tanh', not 'tahn'" + here(__LINE__ - 1));
  const std::string message = error_of([] { nn::Linear(3, 2)(ones({5, 4})); });
  EXPECT_EQ(message.find("linear: "), 0U) << message;
  EXPECT_NE(message.find(here(__LINE__ - 2)), std::string::npos) << message;
}

TEST(Layers, DropoutDoesNothingInEvaluation) {
  nn::Dropout dropout({.p = 0.5});
  const Tensor x = ones({100});
  EXPECT_NE(dropout(x).to_vector<float>(), x.to_vector<float>());
  dropout.eval();
  EXPECT_EQ(dropout(x).id(), x.id());
  EXPECT_EQ(dropout.to_string(), "Dropout(p=0.5)");
}

TEST(Layers, DrawFromTheirOwnGenerator) {
  Generator generator(3);
  const nn::Dropout dropout({.p = 0.5, .generator = &generator});
  const auto first = dropout(ones({50})).to_vector<float>();
  generator.seed(3);
  EXPECT_EQ(dropout(ones({50})).to_vector<float>(), first);
}

TEST(BatchNorm, KeepsRunningStatisticsUnlessItIsConstant) {
  nn::BatchNorm norm(2);
  EXPECT_EQ(names(norm.parameters()), (Names{"weight", "bias"}));
  EXPECT_EQ(names(norm.buffers()), (Names{"running_mean", "running_var", "num_batches_tracked"}));
  const Tensor x = tensor({0.0f, 2.0f, 4.0f, 6.0f}).reshape({2, 2});
  std::as_const(norm)(x);
  EXPECT_EQ(norm.num_batches_tracked.item<int>(), 0);
  norm(x);
  EXPECT_EQ(norm.num_batches_tracked.item<int>(), 1);
  EXPECT_FLOAT_EQ(norm.running_mean.to_vector<float>()[1], 0.4f);
  norm.eval();
  norm(x);
  EXPECT_EQ(norm.num_batches_tracked.item<int>(), 1);
  EXPECT_EQ(nn::BatchNorm2d(3).to_string(), "BatchNorm2d(3, eps=1e-05, momentum=0.1)");
}

TEST(Recurrent, HasPyTorchsNamesAndGivesTheLastState) {
  const nn::GRU gru(3, 4, {.bidirectional = true});
  EXPECT_EQ(names(gru.parameters()),
            (Names{"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_ih_l0_reverse",
                   "weight_hh_l0_reverse", "bias_ih_l0_reverse", "bias_hh_l0_reverse"}));
  const auto [y, h] = gru(ones({5, 2, 3}));
  EXPECT_EQ(y.shape(), (Shape{5, 2, 8}));
  EXPECT_EQ(h.shape(), (Shape{2, 2, 4}));
  const nn::LSTM lstm(3, 4, {.num_layers = 2, .batch_first = true});
  const auto [z, state] = lstm(ones({2, 5, 3}));
  EXPECT_EQ(z.shape(), (Shape{2, 5, 4}));
  EXPECT_EQ(lstm(ones({2, 5, 3}), state).first.shape(), (Shape{2, 5, 4}));
  EXPECT_EQ(lstm.to_string(), "LSTM(3, 4, num_layers=2, batch_first=True)");
  EXPECT_EQ(error_of([&] { gru(ones({5, 3})); }),
            "GRU(): an input has shape (length, batch, 3), not (5, 3)" + here(__LINE__ - 1));
}

TEST(Recurrent, TakesSequencesOfDifferentLengths) {
  const nn::LSTM lstm(3, 4, {.bidirectional = true});
  const Tensor x = ones({5, 2, 3});
  const auto [y, state] = lstm(x, std::nullopt, tensor({5, 2}));
  const auto [alone, last] = lstm(x[{Slice(0, 2), Slice(1, 2)}]);
  EXPECT_TRUE(allclose(y[{Slice(0, 2), Slice(1, 2)}], alone).item<bool>());
  EXPECT_FALSE(any(y[{Slice(2, 5), 1}]).item<bool>());
  EXPECT_TRUE(allclose(state.h[{ellipsis, Slice(1, 2), Slice()}], last.h).item<bool>());
  EXPECT_TRUE(allclose(state.c[{ellipsis, Slice(1, 2), Slice()}], last.c).item<bool>());
}

TEST(Losses, KeepClassWeightsAsABufferAndRefuseWhatOnlyBroadcasts) {
  const nn::CrossEntropyLoss loss({.weight = tensor({1.0f, 2.0f, 3.0f})});
  EXPECT_EQ(names(loss.buffers()), Names{"weight"});
  EXPECT_TRUE(loss.parameters().empty());
  EXPECT_TRUE(nn::CrossEntropyLoss().state_dict().empty());
  EXPECT_EQ(error_of([] { nn::MSELoss()(ones({8, 1}), ones({8})); }),
            "mse_loss: the target has shape (8,), but the input has shape (8, 1); write reshape(target, (8, 1)) if it "
            "has the same elements (got float32(8, 1), float32(8,))" +
                here(__LINE__ - 3));
}

TEST(Recurrent, ADirectionFromAStateGoesOnWhereAnotherEnded) {
  const nn::GRU gru(3, 4);
  const Tensor x = random::normal({6, 2, 3});
  const auto [whole, last] = gru(x);
  const auto [first, state] = gru(x.slice(0, 0, 2));
  const auto [second, end] = gru(x.slice(0, 2, 6), state);
  EXPECT_EQ(end.to_vector<float>(), last.to_vector<float>());
  EXPECT_EQ(concat({first, second}).to_vector<float>(), whole.to_vector<float>());
}

TEST(Attention, AttendsToItselfUnlessAKeyIsGiven) {
  const nn::MultiHeadAttention attention(4, 2);
  const Tensor x = random::normal({2, 3, 4});
  const auto alone = attention(x).to_vector<float>();
  const auto given = attention(x, {.key = x, .value = x}).to_vector<float>();
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(alone[i], given[i], 1e-6);
  EXPECT_EQ(attention(x, {.key = random::normal({2, 7, 4})}).shape(), (Shape{2, 3, 4}));
  EXPECT_NE(attention(x, {.is_causal = true}).to_vector<float>(), alone);
  EXPECT_EQ(names(attention.parameters()),
            (Names{"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"}));
}

TEST(Attention, ABlockIsCausalWhereThatIsAsked) {
  nn::TransformerEncoderLayer block(4, 2, {.dim_feedforward = 8, .norm_first = true});
  block.eval();
  const Tensor x = random::normal({1, 5, 4});
  const Tensor start = block(x.slice(1, 0, 2), {.is_causal = true});
  const Tensor whole = block(x, {.is_causal = true});
  const auto expected = start.to_vector<float>();
  const auto found = whole.slice(1, 0, 2).to_vector<float>();
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6);
  EXPECT_EQ(block(x).shape(), x.shape());
}

template <class Layer>
concept TakesKeys = requires(const Layer& layer, const Tensor& x) { layer(x, {.key = x}); };
static_assert(TakesKeys<nn::MultiHeadAttention>);
static_assert(!TakesKeys<nn::TransformerEncoderLayer>, "a block looks at itself");

TEST(BatchNorm, AConstantOneInTrainingWarnsOnce) {
  static std::vector<std::string> warnings;
  warnings.clear();
  set_warning_handler([](WarningKind, const std::string& message) { warnings.push_back(message); });
  nn::BatchNorm1d norm(2);
  const Tensor x = ones({3, 2});
  norm(x);
  EXPECT_EQ(warnings, std::vector<std::string>());
  std::as_const(norm)(x);
  std::as_const(norm)(x);
  set_warning_handler(nullptr);
  EXPECT_LE(warnings.size(), 1U);  // none if another test made it warn
  for (const std::string& text : warnings) {
    EXPECT_NE(text.find("does not update its running statistics"), std::string::npos);
    EXPECT_NE(text.find("at layers_test.cpp:"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace lento

// Makes every layer from one seed, calls it and prints what it looks like and all bits. test_nn_cpp.py does the same in
// Python and compares.
#include <lento/lento.h>

#include <array>
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

using namespace lento;

namespace {

void print(const std::string& name, const Tensor& x) {
  std::printf("%s %s ", name.c_str(), std::string(lento::name(x.dtype())).c_str());
  const auto* bytes = static_cast<const unsigned char*>(x.data_pointer());
  const auto count = static_cast<std::size_t>(x.size()) * size_of(x.dtype());
  for (std::size_t i = 0; i < count; ++i) std::printf("%02x", bytes[i]);
  std::printf("\n");
}

std::vector<Tensor> outputs(const Tensor& y) { return {y}; }
std::vector<Tensor> outputs(const std::pair<Tensor, Tensor>& y) { return {y.first, y.second}; }
std::vector<Tensor> outputs(const nn::LSTMState& y) { return {y.h, y.c}; }
std::vector<Tensor> outputs(const std::pair<Tensor, nn::LSTMState>& y) { return {y.first, y.second.h, y.second.c}; }

// What layers are called with: drawn after the layer is made, in the order of the arguments.
auto normal(Shape shape) {
  return [=] { return random::normal(shape); };
}
auto unit(Shape shape) {
  return [=] { return random::uniform(shape); };
}
auto integers(Shape shape) {
  return [=] { return random::randint(shape, 0, 5); };
}
auto signs(Shape shape) {
  return [=] { return random::randint(shape, 0, 2) * 2 - 1; };
}

Tensor weights() { return tensor({0.5f, 1.0f, 2.0f, 3.0f, 4.0f}); }

/// `make` is called with the seed set; what it gives is called in training, again, and in evaluation.
template <class Make, class... Inputs>
void show(const char* name, Make make, Inputs... inputs) {
  std::printf("== %s\n", name);
  random::seed(11);
  auto layer = make();
  std::printf("%s\n", layer.to_string().c_str());
  const std::array<Tensor, sizeof...(Inputs)> x{inputs()...};
  for (const auto& [key, tensor] : layer.state_dict()) print(key, tensor);
  for (const bool training : {true, true, false}) {
    layer.train(training);
    const auto y = std::apply([&](const auto&... each) { return layer(each...); }, x);
    for (const Tensor& each : outputs(y)) print("output", each);
  }
  for (const auto& [key, tensor] : layer.buffers()) print(key, tensor);
}

template <class Make>
void show_error(Make make) {
  try {
    make();
  } catch (const Error& error) {
    std::printf("error %s\n", error.what());
  }
}

}  // namespace

int main() {
  using namespace nn;
  show("Linear", [] { return Linear(3, 4); }, normal({5, 3}));
  show("Linear-no-bias", [] { return Linear(3, 4, {.bias = false, .dtype = DType::bfloat16}); }, normal({5, 3}));
  show("Linear-empty", [] { return Linear(0, 2); }, normal({5, 0}));
  show("Conv1d", [] { return Conv1d(4, 6, 3, {.stride = 2, .padding = 1, .groups = 2}); }, normal({2, 4, 9}));
  show("Conv2d", [] { return Conv2d(3, 4, 3, {.padding = 1}); }, normal({1, 3, 5, 6}));
  show(
      "Conv2d-same", [] { return Conv2d(3, 4, {3, 2}, {.padding = "same", .dilation = {2, 1}, .bias = false}); },
      normal({1, 3, 5, 6}));
  show("Embedding", [] { return Embedding(5, 3); }, integers({2, 4}));
  show("Embedding-padding", [] { return Embedding(5, 3, {.padding_idx = -1}); }, integers({2, 4}));
  show("LayerNorm", [] { return LayerNorm(4); }, normal({3, 4}));
  show("LayerNorm-shape", [] { return LayerNorm({3, 4}, {.eps = 0.1, .bias = false}); }, normal({2, 3, 4}));
  show("RMSNorm", [] { return RMSNorm(4); }, normal({3, 4}));
  show("RMSNorm-plain", [] { return RMSNorm({4}, {.eps = 1e-3, .elementwise_affine = false}); }, normal({3, 4}));
  show("GroupNorm", [] { return GroupNorm(2, 4); }, normal({3, 4, 5}));
  show("BatchNorm", [] { return BatchNorm(3); }, normal({4, 3}));
  show("BatchNorm2d", [] { return BatchNorm2d(3, {.momentum = std::nullopt, .affine = false}); }, normal({2, 3, 4, 4}));
  show("Dropout", [] { return Dropout({.p = 0.3}); }, normal({20}));
  show("Dropout-none", [] { return Dropout({.p = 0}); }, normal({20}));
  show("ReLU", [] { return ReLU(); }, normal({9}));
  show("SiLU", [] { return SiLU(); }, normal({9}));
  show("GELU", [] { return GELU(); }, normal({9}));
  show("GELU-tanh", [] { return GELU({.approximate = "tanh"}); }, normal({9}));
  show("Tanh", [] { return Tanh(); }, normal({9}));
  show(
      "Sequential",
      [] { return Sequential{Linear(3, 4), nn::relu, BatchNorm(4), Sequential{Linear(4, 2), Dropout()}}; },
      normal({5, 3}));
  show("MultiHeadAttention", [] { return MultiHeadAttention(4, 2, {.dropout = 0.2}); }, normal({2, 3, 4}));
  show("MultiHeadAttention-no-bias", [] { return MultiHeadAttention(4, 1, {.bias = false}); }, normal({2, 3, 4}));
  show(
      "TransformerEncoderLayer", [] { return TransformerEncoderLayer(4, 2, {.dim_feedforward = 8}); },
      normal({2, 3, 4}));
  show(
      "TransformerEncoderLayer-first",
      [] {
        return TransformerEncoderLayer(4, 2,
                                       {.dim_feedforward = 8, .activation = "gelu", .norm_first = true, .bias = false});
      },
      normal({2, 3, 4}));
  show("GRU", [] { return GRU(3, 4); }, normal({5, 2, 3}));
  show(
      "GRU-both", [] { return GRU(3, 4, {.num_layers = 2, .batch_first = true, .bidirectional = true}); },
      normal({2, 5, 3}));
  show("LSTM", [] { return LSTM(3, 4, {.bias = false}); }, normal({5, 2, 3}));
  show("LSTM-both", [] { return LSTM(3, 4, {.num_layers = 2, .bidirectional = true}); }, normal({5, 2, 3}));
  show("Conv3d", [] { return Conv3d(2, 4, {1, 2, 3}, {.stride = {1, 2, 1}, .groups = 2}); }, normal({1, 2, 3, 4, 5}));
  show("Conv3d-same", [] { return Conv3d(2, 3, 3, {.padding = "same"}); }, normal({1, 2, 3, 4, 5}));
  show("Conv1d-same", [] { return Conv1d(2, 3, 4, {.padding = "same", .dilation = 2}); }, normal({1, 2, 9}));
  show(
      "ConvTranspose1d",
      [] { return ConvTranspose1d(4, 6, 3, {.stride = 2, .padding = 1, .output_padding = 1, .groups = 2}); },
      normal({2, 4, 5}));
  show(
      "ConvTranspose2d", [] { return ConvTranspose2d(3, 4, {3, 2}, {.stride = {2, 1}, .bias = false, .dilation = 2}); },
      normal({1, 3, 4, 5}));
  show("ConvTranspose3d", [] { return ConvTranspose3d(2, 3, 2, {.stride = 2}); }, normal({1, 2, 2, 3, 2}));
  show("EmbeddingBag", [] { return EmbeddingBag(5, 3, {.mode = "sum", .padding_idx = 1}); }, integers({2, 4}));
  show("Bilinear", [] { return Bilinear(3, 4, 2); }, normal({5, 3}), normal({5, 4}));
  show("LocalResponseNorm", [] { return LocalResponseNorm(3, {.alpha = 0.5}); }, normal({2, 4, 5}));
  show("Dropout1d", [] { return Dropout1d({.p = 0.3}); }, normal({3, 4, 5}));
  show("Dropout2d", [] { return Dropout2d({.p = 0.3}); }, normal({3, 4, 5, 2}));
  show("Dropout3d", [] { return Dropout3d({.p = 0.3}); }, normal({3, 4, 5, 2, 2}));
  show("BatchNorm1d", [] { return BatchNorm1d(3, {.track_running_stats = false}); }, normal({4, 3}));
  show("BatchNorm3d", [] { return BatchNorm3d(3, {.momentum = 0.3}); }, normal({2, 3, 2, 2, 2}));
  show("InstanceNorm1d", [] { return InstanceNorm1d(3); }, normal({4, 3, 5}));
  show("InstanceNorm1d-single", [] { return InstanceNorm1d(3, {.affine = true}); }, normal({3, 5}));
  show(
      "InstanceNorm2d", [] { return InstanceNorm2d(3, {.affine = true, .track_running_stats = true}); },
      normal({4, 3, 5, 2}));
  show(
      "InstanceNorm3d", [] { return InstanceNorm3d(3, {.momentum = std::nullopt, .track_running_stats = true}); },
      normal({4, 3, 2, 2, 2}));
  show("RNN", [] { return RNN(3, 4, {.num_layers = 2, .nonlinearity = "relu", .dropout = 0.5}); }, normal({5, 2, 3}));
  show(
      "RNN-both", [] { return RNN(3, 4, {.num_layers = 2, .batch_first = true, .bidirectional = true}); },
      normal({2, 5, 3}));
  show("GRU-dropout", [] { return GRU(3, 4, {.num_layers = 3, .dropout = 0.5}); }, normal({5, 2, 3}));
  show(
      "LSTM-dropout", [] { return LSTM(3, 4, {.num_layers = 2, .dropout = 0.5, .bidirectional = true}); },
      normal({5, 2, 3}));
  show("RNNCell", [] { return RNNCell(3, 4); }, normal({2, 3}));
  show(
      "RNNCell-relu", [] { return RNNCell(3, 4, {.bias = false, .nonlinearity = "relu"}); }, normal({2, 3}),
      normal({2, 4}));
  show("GRUCell", [] { return GRUCell(3, 4); }, normal({2, 3}), normal({2, 4}));
  show("LSTMCell", [] { return LSTMCell(3, 4); }, normal({2, 3}));
  show("LSTMCell-no-bias", [] { return LSTMCell(3, 4, {.bias = false}); }, normal({3}));
  show("ReLU6", [] { return ReLU6(); }, normal({9}));
  show("SELU", [] { return SELU(); }, normal({9}));
  show("Mish", [] { return Mish(); }, normal({9}));
  show("Sigmoid", [] { return Sigmoid(); }, normal({9}));
  show("LogSigmoid", [] { return LogSigmoid(); }, normal({9}));
  show("Tanhshrink", [] { return Tanhshrink(); }, normal({9}));
  show("Softsign", [] { return Softsign(); }, normal({9}));
  show("Hardsigmoid", [] { return Hardsigmoid(); }, normal({9}));
  show("Hardswish", [] { return Hardswish(); }, normal({9}));
  show("Identity", [] { return Identity(); }, normal({9}));
  show("LeakyReLU", [] { return LeakyReLU({.negative_slope = 0.2, .inplace = true}); }, normal({9}));
  show("PReLU", [] { return PReLU({.num_parameters = 3}); }, normal({2, 3, 4}));
  show("RReLU", [] { return RReLU({.lower = 0.1, .upper = 0.4}); }, normal({9}));
  show("ELU", [] { return ELU({.alpha = 0.5}); }, normal({9}));
  show("CELU", [] { return CELU({.alpha = 0.5}); }, normal({9}));
  show("Softplus", [] { return Softplus({.beta = 2.0, .threshold = 1.0}); }, normal({9}));
  show("Softshrink", [] { return Softshrink({.lambd = 0.3}); }, normal({9}));
  show("Hardshrink", [] { return Hardshrink({.lambd = 0.3}); }, normal({9}));
  show("Hardtanh", [] { return Hardtanh({.min_val = -0.5, .max_val = 0.5}); }, normal({9}));
  show("Threshold", [] { return Threshold(0.1, 2.0); }, normal({9}));
  show("GLU", [] { return GLU(); }, normal({2, 6}));
  show("Softmax", [] { return Softmax({.dim = 0}); }, normal({3, 4}));
  show("LogSoftmax", [] { return LogSoftmax({.dim = 0}); }, normal({3, 4}));
  show("Softmin", [] { return Softmin({.dim = 0}); }, normal({3, 4}));
  show("MSELoss", [] { return MSELoss(); }, normal({3, 4}), normal({3, 4}));
  show("L1Loss", [] { return L1Loss({.reduction = "none"}); }, normal({3, 4}), normal({3, 4}));
  show("SmoothL1Loss", [] { return SmoothL1Loss({.beta = 0.5}); }, normal({3, 4}), normal({3, 4}));
  show("HuberLoss", [] { return HuberLoss({.reduction = "sum", .delta = 0.5}); }, normal({3, 4}), normal({3, 4}));
  show("BCELoss", [] { return BCELoss({.weight = weights()}); }, unit({3, 5}), unit({3, 5}));
  show("BCEWithLogitsLoss", [] { return BCEWithLogitsLoss({.pos_weight = weights()}); }, normal({3, 5}), unit({3, 5}));
  show("NLLLoss", [] { return NLLLoss({.weight = weights(), .ignore_index = 1}); }, normal({6, 5}), integers({6}));
  show(
      "CrossEntropyLoss", [] { return CrossEntropyLoss({.weight = weights(), .label_smoothing = 0.1}); },
      normal({6, 5}), integers({6}));
  show("CrossEntropyLoss-plain", [] { return CrossEntropyLoss(); }, normal({6, 5}), integers({6}));
  show("KLDivLoss", [] { return KLDivLoss({.reduction = "batchmean"}); }, normal({3, 4}), unit({3, 4}));
  show("PoissonNLLLoss", [] { return PoissonNLLLoss({.full = true}); }, normal({3, 4}), unit({3, 4}));
  show("GaussianNLLLoss", [] { return GaussianNLLLoss({.full = true}); }, normal({3, 4}), normal({3, 4}), unit({3, 4}));
  show("HingeEmbeddingLoss", [] { return HingeEmbeddingLoss({.margin = 0.5}); }, normal({6}), signs({6}));
  show(
      "CosineEmbeddingLoss", [] { return CosineEmbeddingLoss({.margin = 0.5}); }, normal({6, 3}), normal({6, 3}),
      signs({6}));
  show("MarginRankingLoss", [] { return MarginRankingLoss({.margin = 0.5}); }, normal({6}), normal({6}), signs({6}));
  show(
      "TripletMarginLoss", [] { return TripletMarginLoss({.swap = true}); }, normal({6, 3}), normal({6, 3}),
      normal({6, 3}));
  show("SoftMarginLoss", [] { return SoftMarginLoss(); }, normal({6}), signs({6}));
  show(
      "MultiLabelSoftMarginLoss", [] { return MultiLabelSoftMarginLoss({.weight = weights()}); }, normal({3, 5}),
      unit({3, 5}));
  show(
      "MultiMarginLoss", [] { return MultiMarginLoss({.p = 2, .margin = 0.5, .weight = weights()}); }, normal({6, 5}),
      integers({6}));
  show(
      "CTCLoss", [] { return CTCLoss({.blank = 5, .zero_infinity = true}); }, normal({6, 2, 6}), integers({2, 3}),
      integers({2}), integers({2}));
  show("CosineSimilarity", [] { return CosineSimilarity({.dim = -1}); }, normal({3, 4}), normal({3, 4}));
  show("PairwiseDistance", [] { return PairwiseDistance({.keepdim = true}); }, normal({3, 4}), normal({3, 4}));
  show("ZeroPad1d", [] { return ZeroPad1d({1, 2}); }, normal({2, 3, 4}));
  show("ZeroPad2d", [] { return ZeroPad2d({1, 2, 0, 1}); }, normal({1, 2, 3, 4}));
  show("ZeroPad3d", [] { return ZeroPad3d({1, 0, 2, 1, 1, 1}); }, normal({1, 2, 3, 4, 3}));
  show("ConstantPad1d", [] { return ConstantPad1d({1, 2}, 1.5); }, normal({2, 3, 4}));
  show("ConstantPad2d", [] { return ConstantPad2d({1, 2, 0, 1}, 1.5); }, normal({1, 2, 3, 4}));
  show("ConstantPad3d", [] { return ConstantPad3d({1, 0, 2, 1, 1, 1}, 1.5); }, normal({1, 2, 3, 4, 3}));
  show("ReflectionPad1d", [] { return ReflectionPad1d({1, 2}); }, normal({2, 3, 4}));
  show("ReflectionPad2d", [] { return ReflectionPad2d({1, 2, 0, 1}); }, normal({1, 2, 3, 4}));
  show("ReflectionPad3d", [] { return ReflectionPad3d({1, 0, 2, 1, 1, 1}); }, normal({1, 2, 3, 4, 3}));
  show("ReplicationPad1d", [] { return ReplicationPad1d({1, 2}); }, normal({2, 3, 4}));
  show("ReplicationPad2d", [] { return ReplicationPad2d({1, 2, 0, 1}); }, normal({1, 2, 3, 4}));
  show("ReplicationPad3d", [] { return ReplicationPad3d({1, 0, 2, 1, 1, 1}); }, normal({1, 2, 3, 4, 3}));
  show("CircularPad1d", [] { return CircularPad1d({1, 2}); }, normal({2, 3, 4}));
  show("CircularPad2d", [] { return CircularPad2d({1, 2, 0, 1}); }, normal({1, 2, 3, 4}));
  show("CircularPad3d", [] { return CircularPad3d({1, 0, 2, 1, 1, 1}); }, normal({1, 2, 3, 4, 3}));
  show("ZeroPad2d-all", [] { return ZeroPad2d(1); }, normal({1, 2, 3, 4}));
  show("MaxPool1d", [] { return MaxPool1d(3, {.stride = 2, .padding = 1, .ceil_mode = true}); }, normal({2, 3, 8}));
  show("AvgPool1d", [] { return AvgPool1d(2, {.count_include_pad = false}); }, normal({2, 3, 8}));
  show("LPPool1d", [] { return LPPool1d(2.0, 2); }, unit({2, 3, 8}));
  show("AdaptiveAvgPool1d", [] { return AdaptiveAvgPool1d(2); }, normal({2, 3, 8}));
  show("AdaptiveMaxPool1d", [] { return AdaptiveMaxPool1d(3); }, normal({2, 3, 8}));
  show("MaxPool2d", [] { return MaxPool2d(3, {.stride = 2, .padding = 1, .ceil_mode = true}); }, normal({2, 3, 6, 8}));
  show("AvgPool2d", [] { return AvgPool2d(2, {.count_include_pad = false}); }, normal({2, 3, 6, 8}));
  show("LPPool2d", [] { return LPPool2d(2.0, 2); }, unit({2, 3, 6, 8}));
  show("AdaptiveAvgPool2d", [] { return AdaptiveAvgPool2d(2); }, normal({2, 3, 6, 8}));
  show("AdaptiveMaxPool2d", [] { return AdaptiveMaxPool2d(3); }, normal({2, 3, 6, 8}));
  show(
      "MaxPool3d", [] { return MaxPool3d(3, {.stride = 2, .padding = 1, .ceil_mode = true}); },
      normal({1, 2, 4, 6, 4}));
  show("AvgPool3d", [] { return AvgPool3d(2, {.count_include_pad = false}); }, normal({1, 2, 4, 6, 4}));
  show("LPPool3d", [] { return LPPool3d(2.0, 2); }, unit({1, 2, 4, 6, 4}));
  show("AdaptiveAvgPool3d", [] { return AdaptiveAvgPool3d(2); }, normal({1, 2, 4, 6, 4}));
  show("AdaptiveMaxPool3d", [] { return AdaptiveMaxPool3d(3); }, normal({1, 2, 4, 6, 4}));
  show("MaxPool2d-shape", [] { return MaxPool2d({2, 3}); }, normal({1, 2, 6, 6}));
  show("Unfold", [] { return Unfold({2, 3}, {.stride = 2}); }, normal({2, 3, 6, 7}));
  show("Fold", [] { return Fold({4, 5}, 2); }, normal({2, 8, 12}));
  show("PixelShuffle", [] { return PixelShuffle(2); }, normal({1, 8, 2, 3}));
  show("PixelUnshuffle", [] { return PixelUnshuffle(2); }, normal({1, 2, 4, 6}));
  show("ChannelShuffle", [] { return ChannelShuffle(2); }, normal({1, 4, 2, 3}));
  show("Upsample", [] { return Upsample({.scale_factor = {2.0, 1.5}, .mode = "bilinear"}); }, normal({1, 2, 4, 4}));
  show("Upsample-size", [] { return Upsample({.size = Ints{5, 6}}); }, normal({1, 2, 4, 4}));
  show("Flatten", [] { return Flatten(); }, normal({2, 3, 4}));
  show("Unflatten", [] { return Unflatten(1, {2, 3}); }, normal({2, 6}));

  std::printf("== errors\n");
  show_error([] { Linear(-1, 2); });
  show_error([] { Conv2d(0, 2, 3); });
  show_error([] { Conv2d(2, 2, {3, 0}); });
  show_error([] { Conv2d(2, 2, {3}); });
  show_error([] { Conv1d(2, 2, {3, 3}); });
  show_error([] { Conv2d(3, 4, 3, {.groups = 2}); });
  show_error([] { GroupNorm(2, 3); });
  show_error([] { Dropout({.p = 1.5}); });
  show_error([] { GELU({.approximate = "tahn"}); });
  show_error([] { Embedding(5, 3, {.padding_idx = 7}); });
  show_error([] { MultiHeadAttention(5, 2); });
  show_error([] { MultiHeadAttention(4, 2)(ones({3, 4})); });
  show_error([] { TransformerEncoderLayer(4, 2, {.activation = "tahn"}); });
  show_error([] { GRU(3, 0); });
  show_error([] { LSTM(3, 4, {.num_layers = 0}); });
  show_error([] { GRU(3, 4)(ones({5, 3})); });
  show_error([] { LSTM(3, 4, {.batch_first = true})(ones({5, 2, 4})); });
  show_error([] { GRU(3, 4)(ones({0, 2, 3})); });
  show_error([] { GRU(3, 4, {.num_layers = 2})(ones({5, 2, 3}), ones({2, 4})); });
  show_error([] { ConvTranspose2d(3, 4, 3, {.groups = 2}); });
  show_error([] { RNN(3, 4, {.dropout = 2.0}); });
  show_error([] { RNN(3, 4, {.nonlinearity = "sigmoid"}); });
  show_error([] { RNNCell(3, 4)(ones({2, 3}), ones({4})); });
  show_error([] { LSTMCell(3, 4)(ones({2, 3, 3})); });
  show_error([] { InstanceNorm2d(3)(ones({2, 4, 5, 5})); });
  show_error([] { ZeroPad2d({1, 2})(ones({2, 4, 5, 5})); });
  show_error([] { MSELoss()(ones({8, 1}), ones({8})); });
}

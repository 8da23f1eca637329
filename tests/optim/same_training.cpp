// Trains a small network and prints the state of everything, bit by bit. test_optim_cpp.py does the same in Python and
// compares.
//
//     same_training <optimizer> <steps> <dtype>
//     same_training init
#include <lento/lento.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

using namespace lento;

namespace {

struct Layer : nn::Module {
  Layer(std::int64_t inputs, std::int64_t outputs, DType dtype) {
    const double bound = 1 / std::sqrt(static_cast<double>(inputs));
    weight = nn::init::uniform({outputs, inputs}, -bound, bound, dtype);
    bias = nn::init::uniform({outputs}, -bound, bound, dtype);
  }
  Tensor operator()(const Tensor& x) const { return nn::linear(x, weight, bias); }

  Tensor weight, bias;
  LENTO_FIELDS(weight, bias)
};

struct Net : nn::Module {
  explicit Net(DType dtype) : first(3, 5, dtype), second(5, 2, dtype) {}
  Tensor operator()(const Tensor& x) const { return second(tanh(first(x))); }

  Layer first, second;
  LENTO_FIELDS(first, second)
};

void print(const std::string& name, const Tensor& x) {
  std::printf("%s ", name.c_str());
  const auto* bytes = static_cast<const unsigned char*>(x.data_pointer());
  const auto count = static_cast<std::size_t>(x.size()) * size_of(x.dtype());
  for (std::size_t i = 0; i < count; ++i) std::printf("%02x", bytes[i]);
  std::printf("\n");
}

std::unique_ptr<optim::Optimizer> make(const std::string& name, const Net& net) {
  using namespace optim;
  if (name == "sgd") return std::make_unique<SGD>(net, SGDOptions{.lr = 0.1, .weight_decay = 0.01});
  if (name == "nesterov") return std::make_unique<SGD>(net, SGDOptions{.lr = 0.1, .momentum = 0.9, .nesterov = true});
  if (name == "adam") return std::make_unique<Adam>(net, AdamOptions{.lr = 0.01, .eps = 1e-6, .weight_decay = 0.1});
  if (name == "adamw") {
    return std::make_unique<AdamW>(net, AdamWOptions{.lr = warmup(cosine(0.02, 7, 0.001), 3), .betas = {0.9, 0.95}});
  }
  if (name == "rmsprop") {
    return std::make_unique<RMSprop>(net, RMSpropOptions{.weight_decay = 0.1, .momentum = 0.5, .centered = true});
  }
  if (name == "adagrad")
    return std::make_unique<Adagrad>(net, AdagradOptions{.lr_decay = 0.1, .initial_accumulator_value = 0.2});
  if (name == "adadelta") return std::make_unique<Adadelta>(net, AdadeltaOptions{.weight_decay = 0.1});
  if (name == "adamax") return std::make_unique<Adamax>(net, AdamaxOptions{.weight_decay = 0.1});
  if (name == "nadam") return std::make_unique<NAdam>(net, NAdamOptions{.weight_decay = 0.1});
  if (name == "radam")
    return std::make_unique<RAdam>(net, RAdamOptions{.betas = {0.8, 0.9}, .decoupled_weight_decay = true});
  if (name == "adafactor") return std::make_unique<Adafactor>(net, AdafactorOptions{.weight_decay = 0.1});
  if (name == "groups") {
    const auto is_bias = [](std::string_view, const Tensor& x) { return x.ndim() == 1; };
    return std::make_unique<AdamW>(
        net, AdamWOptions{.lr = 0.02,
                          .groups = {{.params = is_bias, .weight_decay = 0.0, .betas = std::pair(0.8, 0.9)},
                                     {.params = "second.weight", .lr = linear(0.1, 0.0, 5)},
                                     {.params = {"first.weight"}, .lr = 0.03, .eps = 1e-6}}});
  }
  if (name == "steps") return std::make_unique<AdamW>(net, AdamWOptions{.lr = optim::steps(0.03, 2, 0.7)});
  return std::make_unique<Lion>(net, LionOptions{.lr = linear(0.03, 0.001, 7), .weight_decay = 0.1});
}

void train(const std::string& name, int steps, DType dtype) {
  random::seed(7);
  Net net(dtype);
  const Tensor x = random::normal({8, 3}, 0.0, 1.0, dtype);
  const Tensor y = random::normal({8, 2}, 0.0, 1.0, dtype);
  const auto optimizer = make(name, net);
  const auto loss = [](const Net& model, const Tensor& input, const Tensor& target) {
    return nn::mse_loss(model(input), target);
  };
  for (int i = 0; i < steps; ++i) {
    std::printf("rate %a\n", optimizer->learning_rate());
    const auto [value, gradients] = value_and_grad(loss)(net, x, y);
    const auto [clipped, norm] = optim::clip_grad_norm(gradients, 0.5);
    optimizer->step(net, optim::clip_grad_value(clipped, 0.2));
    print("loss", value);
    step();
  }
  for (const auto& [key, tensor] : net.state_dict()) print(key, tensor);
  for (const auto& [key, tensor] : optimizer->state_dict()) print(key, tensor);
}

void initialise() {
  namespace init = nn::init;
  random::seed(3);
  const Shape shape{6, 4, 3};
  print("uniform", init::uniform(shape, -0.3, 0.7));
  print("normal", init::normal(shape, 1.0, 0.1));
  print("trunc_normal", init::trunc_normal(shape, 0.5, 2.0, -1.0, 3.0));
  print("constant", init::constant(shape, 0.1));
  print("xavier_uniform", init::xavier_uniform(shape, 2.0));
  print("xavier_normal", init::xavier_normal(shape, 2.0));
  print("kaiming_uniform", init::kaiming_uniform(shape, 0.2, "fan_out"));
  print("kaiming_normal", init::kaiming_normal(shape, 0.0, "fan_in", "relu"));
  print("orthogonal", init::orthogonal(shape, 1.5));
}

}  // namespace

int main(int count, char** arguments) {
  const std::string name = count > 1 ? arguments[1] : "";
  if (name == "init") {
    initialise();
  } else if (count == 4) {
    train(name, std::stoi(arguments[2]), dtype_from_name(arguments[3]).value_or(DType::float32));
  } else {
    return 1;
  }
}

// The digit reader of digits.py in C++: the same data, the same network, the same plans.
//
//     build/release/examples/digits [STEPS [SEED]]
#include <lento/lento.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using lento::Slice;
using lento::Tensor;

constexpr std::int64_t kSize = 12;   // pixels, each way
constexpr std::int64_t kTest = 400;  // so many pictures, the last ones, are not learnt from
constexpr std::int64_t kBatch = 64;

struct Pictures {
  Tensor images;  // (count, 1, 12, 12), from 0 to 1
  Tensor digits;  // what they show
};

/// examples/data/README.md describes the file.
Pictures load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<float> pixels;
  for (std::istreambuf_iterator<char> at(file), end; at != end; ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    pixels.push_back(static_cast<float>(byte >> 4) / 15);
    pixels.push_back(static_cast<float>(byte & 15) / 15);
  }
  const auto count = static_cast<std::int64_t>(pixels.size()) / (kSize * kSize);
  return {lento::tensor(pixels, {count, 1, kSize, kSize}), lento::arange(count) % 10};
}

/// Weights and biases of two convolutions and a linear layer.
std::vector<Tensor> make_parameters() {
  std::vector<Tensor> made;
  const auto layer = [&](const lento::Ints& shape, std::int64_t outputs, double inputs) {
    const double bound = 1 / std::sqrt(inputs);
    made.push_back(lento::random::uniform(shape, -bound, bound));
    made.push_back(lento::random::uniform({outputs}, -bound, bound));
  };
  layer({16, 1, 3, 3}, 16, 1 * 3 * 3);
  layer({32, 16, 3, 3}, 32, 16 * 3 * 3);
  layer({10, 32 * 3 * 3}, 10, 32 * 3 * 3);
  return made;
}

Tensor read_digits(const std::vector<Tensor>& p, const Tensor& images) {
  namespace nn = lento::nn;
  Tensor x = nn::max_pool2d(nn::relu(nn::conv2d(images, p[0], p[1], {1}, {1})), {2});
  x = nn::max_pool2d(nn::relu(nn::conv2d(x, p[2], p[3], {1}, {1})), {2});
  return nn::linear(x.reshape({x.shape()[0], -1}), p[4], p[5]);
}

/// Adam with a learning rate that falls along half a cosine.
class Adam {
 public:
  Adam(const std::vector<Tensor>& parameters, double rate, int steps) : rate_(rate), steps_(steps) {
    for (const Tensor& p : parameters) {
      mean_.push_back(lento::zeros_like(p));
      mean_square_.push_back(lento::zeros_like(p));
    }
  }

  void step(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) {
    const double rate = rate_ * (1 + std::cos(std::numbers::pi * step_ / steps_)) / 2;
    ++step_;
    // Numbers are arguments of the plan: that they change with every step compiles nothing.
    const double size = rate / (1 - std::pow(0.9, step_));
    const double root = std::sqrt(1 - std::pow(0.999, step_));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Tensor& g = gradients[i];
      mean_[i] += (1 - 0.9) * (g - mean_[i]);
      mean_square_[i] *= 0.999;
      mean_square_[i] += (1 - 0.999) * (g * g);
      parameters[i] -= size * (mean_[i] / (lento::sqrt(mean_square_[i]) / root + 1e-8));
    }
  }

 private:
  double rate_;
  int steps_;
  int step_ = 0;
  std::vector<Tensor> mean_;
  std::vector<Tensor> mean_square_;
};

void run(int steps, std::uint64_t seed) {
  lento::random::seed(seed);
  const auto [images, digits] = load(LENTO_EXAMPLES_DATA "/digits.bin");
  const std::int64_t learnt = digits.shape()[0] - kTest;
  std::vector<Tensor> parameters = make_parameters();
  Adam adam(parameters, 3e-3, steps);

  // A function of its own, because what still has a name when the step is handed over, as gradients would, is kept.
  const auto train_step = [&] {
    const Tensor chosen = lento::random::randint({kBatch}, 0, learnt);
    const Tensor batch = images[{chosen}];
    const Tensor shown = digits[{chosen}];
    const std::function<Tensor(const std::vector<Tensor>&)> loss = [&](const std::vector<Tensor>& p) {
      return lento::nn::cross_entropy(read_digits(p, batch), shown);
    };
    const auto [value, gradients] = lento::value_and_grad(loss, parameters);
    adam.step(parameters, gradients);
    return value;
  };

  const auto start = std::chrono::steady_clock::now();
  for (int step = 1; step <= steps; ++step) {
    const Tensor loss = train_step();
    if (step == 1 || step % 100 == 0) {
      // Runs after the step, on a thread of its own: the loop does not wait for the number.
      const auto log = [step](const std::vector<Tensor>& values) {
        std::printf("step %4d  loss %.6f\n", step, static_cast<double>(values[0].item<float>()));
      };
      lento::add_step_closure(log, {loss}, true);
    }
    lento::step();
  }
  lento::wait();
  lento::wait_closures();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const auto counted = [](const char* name) { return static_cast<unsigned long long>(lento::metrics::counter(name)); };
  std::printf("%.1f steps/s, plans compiled %llu, found again %llu, implicit syncs %llu\n", steps / seconds.count(),
              counted("plan.miss"), counted("plan.hit"), counted("sync.implicit"));

  const Tensor guesses = lento::argmax(read_digits(parameters, images[{Slice{-kTest}}]), 1);
  const Tensor right = lento::sum(guesses == digits[{Slice{-kTest}}]);
  std::printf("reads %.1f%% of %lld new pictures correctly\n", 100 * right.item<double>() / static_cast<double>(kTest),
              static_cast<long long>(kTest));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? std::atoi(argv[1]) : 600, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

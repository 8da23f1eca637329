// The digit reader of digits.py in C++: the same data, the same network, the same losses to the bit.
//
//     build/release/examples/digits [STEPS [SEED [LOSSES.npy [DIGITS.bin]]]]
#include "progress.h"

#include <lento/lento.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace nn = lento::nn;
namespace optim = lento::optim;
using lento::Slice;
using lento::Tensor;

#ifndef LENTO_EXAMPLES_DATA  // compiled by hand: to be run in examples/, or with the path of the file
#define LENTO_EXAMPLES_DATA "data"
#endif

namespace {

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

struct Reader : nn::Module {
  nn::Conv2d first{1, 16, 3, {.padding = 1}};
  nn::Conv2d second{16, 32, 3, {.padding = 1}};
  nn::Linear head{32 * 3 * 3, 10};

  Tensor operator()(Tensor x) const {
    x = nn::max_pool2d(nn::relu(first(x)), 2);
    x = nn::max_pool2d(nn::relu(second(x)), 2);
    return head(x.reshape({x.shape()[0], -1}));
  }
  LENTO_FIELDS(first, second, head)
};

Tensor loss_of(const Reader& model, const Tensor& images, const Tensor& digits) {
  return nn::cross_entropy(model(images), digits);
}

void run(int steps, std::uint64_t seed, const std::string& losses, const std::string& data) {
  lento::random::seed(seed);
  const auto [images, digits] = load(data);
  Reader model;
  optim::Adam optimizer(model, {.lr = optim::cosine(3e-3, steps)});
  const std::int64_t learnt = digits.size() - kTest;

  // A function of its own, because what still has a name when the step is handed over, as gradients would, is kept.
  const auto train_step = [&, &all = images, &read = digits] {
    const Tensor chosen = lento::random::randint(kBatch, 0, learnt);
    const auto [loss, gradients] = lento::value_and_grad(loss_of)(model, all[chosen], read[chosen]);
    optimizer.step(model, gradients);
    return loss;
  };

  Progress progress("digits", steps);
  for (int step = 0; step < steps; ++step) {
    progress.after_step(train_step());
    lento::step();
  }
  progress.finish();
  if (!losses.empty()) lento::save(losses, lento::tensor(progress.losses()));

  const Tensor right = model(images[Slice{-kTest}]).argmax(1) == digits[Slice{-kTest}];
  std::printf("reads %.1f%% of %d new pictures correctly\n", 100 * right.sum().item<double>() / kTest,
              static_cast<int>(kTest));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? std::atoi(argv[1]) : 600, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0,
        argc > 3 ? argv[3] : "", argc > 4 ? argv[4] : LENTO_EXAMPLES_DATA "/digits.bin");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "digits: %s\n", error.what());
    return 1;
  }
}

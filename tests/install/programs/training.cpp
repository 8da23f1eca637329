// A training with batch norm, dropout, a schedule, and batches that a thread prepares. Resumed from a file it goes on
// bit for bit as the one that was not stopped.
#include "check.h"

#include <lento/lento.h>
#include <lento/prefetch.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <ranges>
#include <string>
#include <vector>

using lento::Tensor;
using lento::TensorDict;
namespace fs = std::filesystem;
namespace nn = lento::nn;
namespace optim = lento::optim;

constexpr int kStop = 150;
constexpr int kEnd = 300;

struct Batch {
  Tensor x, label;
  LENTO_FIELDS(x, label)
};

// Points of the plane, and whether they lie within the unit circle. Each batch has a generator of its own, so that it
// is the same whoever asks for it.
Batch make_batch(int number) {
  lento::Generator generator(static_cast<std::uint64_t>(number));
  const Tensor x = lento::random::uniform({48, 2}, -1.5, 1.5, {}, {}, &generator);
  return {x, (lento::square(x).sum(1) < 1).astype(lento::DType::int64)};
}

struct Net : nn::Module {
  nn::Linear hidden{2, 32};
  nn::BatchNorm norm{32};
  nn::Dropout dropout{{.p = 0.1}};
  nn::Linear out{32, 2};
  Tensor operator()(const Tensor& x) { return out(dropout(nn::relu(norm(hidden(x))))); }
  LENTO_FIELDS(hidden, norm, dropout, out)
};

// A run that can be written to a file and read from it.
struct Run {
  Net net;
  optim::AdamW optimizer{net, {.lr = optim::warmup(optim::cosine(0.03, kEnd - 20), 20)}};

  Tensor train(const Batch& batch) {
    const auto loss = [&](Net& n) { return nn::cross_entropy(n(batch.x), batch.label); };
    const auto [value, gradients] = lento::value_and_grad(loss)(net);
    optimizer.step(net, optim::clip_grad_norm(gradients, 1.0).first);
    return value;
  }

  // The losses of the batches from `first` up to, but without, `last`.
  std::vector<float> train(int first, int last) {
    std::vector<float> losses;
    for (const Batch& batch : lento::prefetch(std::views::iota(first, last) | std::views::transform(make_batch))) {
      lento::add_step_closure([&](const Tensor& x) { losses.push_back(x.item<float>()); }, {train(batch)}, true);
      lento::step();
    }
    lento::wait_closures();
    return losses;
  }

  // The mean loss of points that were not trained on.
  float test() {
    const Batch batch = make_batch(1000);
    net.eval();
    const float loss = nn::cross_entropy(net(batch.x), batch.label).item<float>();
    net.train();
    return loss;
  }

  std::map<std::string, TensorDict> state() const {
    return {
        {"model", net.state_dict()}, {"optimizer", optimizer.state_dict()}, {"random", lento::random::state_dict()}};
  }
};

std::string bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int main() {
  const fs::path folder = fs::temp_directory_path() / ("lento-training-" + std::to_string(std::random_device()()));
  fs::create_directory(folder);
  lento::random::seed(1);
  Run run;
  const float untrained = run.test();
  run.train(0, kStop);
  lento::save(folder / "stopped.safetensors", run.state(), {{"batches", std::to_string(kStop)}});
  const double rate = run.optimizer.learning_rate();
  const std::vector<float> losses = run.train(kStop, kEnd);
  lento::save(folder / "end.safetensors", run.state());
  CHECK(losses.size() == kEnd - kStop);
  CHECK(run.test() < untrained / 3);

  // Other weights and random numbers, until those of the file are there.
  const auto resume = [&](bool with_random_numbers) {
    lento::random::seed(2);
    Run resumed;
    const fs::path path = folder / "stopped.safetensors";
    resumed.net.load_state_dict(lento::load(path, "model."));
    resumed.optimizer.load_state_dict(lento::load(path, "optimizer."));
    if (with_random_numbers) lento::random::load_state_dict(lento::load(path, "random."));
    CHECK(resumed.optimizer.learning_rate() == rate);
    return resumed;
  };
  Run resumed = resume(true);
  const int first = std::stoi(lento::load_metadata(folder / "stopped.safetensors").at("batches"));
  CHECK(resumed.train(first, kEnd) == losses);
  lento::save(folder / "resumed.safetensors", resumed.state());
  CHECK(bytes(folder / "resumed.safetensors") == bytes(folder / "end.safetensors"));
  CHECK(bytes(folder / "resumed.safetensors") != bytes(folder / "stopped.safetensors"));
  CHECK(resumed.net.norm.num_batches_tracked.item<int>() == kEnd);
  CHECK(resumed.test() == run.test());

  // Dropout draws other numbers when the generator's state is left out.
  CHECK(resume(false).train(first, kEnd) != losses);
  // Compiled once each: a batch, the first step and all others, the first test and all others.
  CHECK(lento::metrics::counter("plan.miss") <= 6);
  fs::remove_all(folder);
}

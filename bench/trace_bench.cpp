// What recording costs: a chain and a random graph of small ops, recorded and dropped, nothing computed.
// A second thread is kept alive, because libraries take cheaper paths in a process with only one.
#include <lento/lento.h>

#include "second_thread.h"

#include <benchmark/benchmark.h>

#include <random>
#include <vector>

namespace {

using lento::Tensor;

constexpr int kOps = 500;

Tensor ones() { return lento::tensor(std::vector<float>(1024, 1.0F)); }

void chain(benchmark::State& state) {
  const SecondThread second;
  const Tensor x = ones();
  for (auto _ : state) {
    Tensor y = x + x;
    for (int i = 1; i < kOps; ++i) y = y + x;
    benchmark::DoNotOptimize(y);
  }
  state.SetItemsProcessed(state.iterations() * kOps);
}
BENCHMARK(chain);

void chain_with_numbers(benchmark::State& state) {
  const SecondThread second;
  const Tensor x = ones();
  for (auto _ : state) {
    Tensor y = x * 1.5F;
    for (int i = 1; i < kOps; ++i) y = y * 1.01F;
    benchmark::DoNotOptimize(y);
  }
  state.SetItemsProcessed(state.iterations() * kOps);
}
BENCHMARK(chain_with_numbers);

void chain_in_place(benchmark::State& state) {
  const SecondThread second;
  const Tensor x = ones();
  for (auto _ : state) {
    Tensor y = x + x;
    for (int i = 1; i < kOps; ++i) y += x;
    benchmark::DoNotOptimize(y);
  }
  state.SetItemsProcessed(state.iterations() * kOps);
}
BENCHMARK(chain_in_place);

void random_graph(benchmark::State& state) {
  const SecondThread second;
  std::mt19937 random(7);
  std::vector<std::pair<int, int>> operands;
  for (int i = 0; i < kOps; ++i) {
    const auto pick = [&] { return static_cast<int>(random() % static_cast<unsigned>(std::min(i + 4, 64))); };
    operands.emplace_back(pick(), pick());
  }
  const std::vector<Tensor> inputs{ones(), ones(), ones(), ones()};
  std::vector<Tensor> values;
  values.reserve(kOps + 4);
  for (auto _ : state) {
    values = inputs;
    for (const auto& [a, b] : operands) {
      const auto last = values.size() - 1;
      const Tensor& left = values[last - static_cast<std::size_t>(a)];
      const Tensor& right = values[last - static_cast<std::size_t>(b)];
      switch ((a + b) % 4) {
        case 0:
          values.push_back(left + right);
          break;
        case 1:
          values.push_back(left * right);
          break;
        case 2:
          values.push_back(lento::maximum(left, right));
          break;
        default:
          values.push_back(lento::exp(left));
          break;
      }
    }
    values.clear();
  }
  state.SetItemsProcessed(state.iterations() * kOps);
}
BENCHMARK(random_graph);

}  // namespace

BENCHMARK_MAIN();

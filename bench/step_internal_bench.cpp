// What a step costs apart from computing: everything on the null backend, a second thread alive.
#include <lento/lento.h>

#include "second_thread.h"

#include <benchmark/benchmark.h>
#include "backends/testing/testing.h"

#include <vector>

namespace {

using lento::Tensor;

lento::Device null_device() {
  lento::testing::register_testing_backends();
  return lento::Device("null");
}

Tensor data(std::int64_t n = 1024) {
  const std::vector<float> values(static_cast<std::size_t>(n), 1.0F);
  return lento::from_host(values.data(), lento::DType::float32, lento::Shape{n}, null_device());
}

/// Trace, cached step and free of a chain of ops. Budget: 15 µs for 500.
void repeated_step(benchmark::State& state) {
  const SecondThread second;
  const lento::Device device = null_device();
  const std::int64_t ops = state.range(0);
  const Tensor x = data();
  for (auto _ : state) {
    Tensor y = x + x;
    for (std::int64_t i = 1; i < ops; ++i) y = y + x;
    lento::step(device);
  }
  state.SetItemsProcessed(state.iterations() * ops);
}
BENCHMARK(repeated_step)->Arg(500)->Arg(5000)->Arg(50'000)->Arg(99'999);

/// 600 ops over 200 buffers with 150 outputs, as in an Adam step of 50 parameters. Budget: 30 µs.
void adam_like_step(benchmark::State& state) {
  const SecondThread second;
  const lento::Device device = null_device();
  std::vector<Tensor> parameter, gradient, first, second_moment;
  for (int i = 0; i < 50; ++i) {
    for (auto* group : {&parameter, &gradient, &first, &second_moment}) group->push_back(data());
  }
  float t = 1;
  for (auto _ : state) {
    for (std::size_t i = 0; i < 50; ++i) {
      first[i] = first[i] * 0.9F + gradient[i] * 0.1F;
      second_moment[i] = second_moment[i] * 0.999F + gradient[i] * gradient[i] * 0.001F;
      parameter[i] = parameter[i] - first[i] / (lento::sqrt(second_moment[i]) + 1e-8F) * t;
    }
    t *= 0.999F;
    lento::step(device);
  }
}
BENCHMARK(adam_like_step);

/// 10,000 ready tensors that have nothing to do with the step.
void step_among_live_tensors(benchmark::State& state) {
  const SecondThread second;
  const lento::Device device = null_device();
  std::vector<Tensor> around;
  for (int i = 0; i < 10000; ++i) around.push_back(data(1));
  const Tensor x = data();
  for (auto _ : state) {
    Tensor y = x + x;
    for (int i = 1; i < 500; ++i) y = y + x;
    lento::step(device);
  }
}
BENCHMARK(step_among_live_tensors);

/// Two threads that read the same tensor, each in steps of its own. Each should be as fast as one alone.
void threads_sharing_an_input(benchmark::State& state) {
  static const Tensor x = data();
  const lento::Device device = null_device();
  for (auto _ : state) {
    Tensor y = x + x;
    for (int i = 1; i < 500; ++i) y = y + x;
    lento::step(device);
  }
}
BENCHMARK(threads_sharing_an_input)->Threads(1)->Threads(2)->UseRealTime();

/// A structure that was never seen: selecting, hashing, and the backend's compile, which does nothing here.
void first_time_planning(benchmark::State& state) {
  const SecondThread second;
  const lento::Device device = null_device();
  std::int64_t n = 1;
  for (auto _ : state) {
    state.PauseTiming();
    const Tensor x = data(++n);
    Tensor y = x + x;
    for (int i = 1; i < 500; ++i) y = y + x;
    state.ResumeTiming();
    lento::step(device);
  }
  state.SetItemsProcessed(state.iterations() * 500);
}
BENCHMARK(first_time_planning)->Iterations(500)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();

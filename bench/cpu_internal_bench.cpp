// What the CPU backend's steps are made of: matrix products, convolutions, handing work to threads, memory.
#include "backends/cpu/arena.h"
#include "backends/cpu/libraries/conv.h"
#include "backends/cpu/libraries/matmul.h"
#include "backends/cpu/threads.h"
#include "second_thread.h"

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using lento::DType;
using lento::Ints;
using lento::Shape;

/// Ones, which all float types have; zero bytes would be faster than numbers on some processors.
std::vector<std::byte> ones(DType dtype, std::int64_t count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * lento::size_of(dtype));
  for (std::int64_t i = 0; i < count; ++i) {
    const float one = 1;
    const double wide = 1;
    const std::uint16_t half = dtype == DType::float16 ? 0x3c00 : 0x3f80;
    const void* from = dtype == DType::float32   ? static_cast<const void*>(&one)
                       : dtype == DType::float64 ? static_cast<const void*>(&wide)
                                                 : static_cast<const void*>(&half);
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * lento::size_of(dtype), from, lento::size_of(dtype));
  }
  return bytes;
}

void set_rate(benchmark::State& state, double products) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * products, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

/// Of contiguous operands, or transposed ones.
void run_product(benchmark::State& state, const lento::MatmulProblem& problem) {
  const auto prepared = lento::cpu::PreparedMatmul::make(problem);
  const std::int64_t matrices = lento::element_count(problem.batch.span());
  // In memory as tensors have it: rows begin where lines of the cache do.
  const auto placed = [&](std::int64_t count) {
    const std::vector<std::byte> bytes = ones(problem.dtype, count);
    lento::BufferRef buffer = lento::cpu::allocate_cpu(bytes.size(), 0);
    std::memcpy(buffer->data(), bytes.data(), bytes.size());
    return buffer;
  };
  const lento::BufferRef a = placed(matrices * problem.m * problem.k);
  const lento::BufferRef b = placed(matrices * problem.k * problem.n);
  const lento::BufferRef c = placed(matrices * problem.m * problem.n);
  for (auto _ : state) prepared->run(a->data(), b->data(), c->data());
  set_rate(state, prepared->products());
}

void multiply(benchmark::State& state, DType dtype, const Shape& a_shape, const Shape& b_shape, bool b_transposed) {
  lento::MatmulProblem problem = lento::MatmulProblem::of(dtype, a_shape, b_shape);
  if (b_transposed) {
    problem.b.row = 1;
    problem.b.column = problem.k;
  }
  run_product(state, problem);
}

void square(benchmark::State& state, DType dtype) {
  const Shape shape{state.range(0), state.range(0)};
  multiply(state, dtype, shape, shape, false);
}
BENCHMARK_CAPTURE(square, float32, DType::float32)
    ->Arg(4)
    ->Arg(16)
    ->Arg(64)
    ->Arg(128)
    ->Arg(256)
    ->Arg(512)
    ->Arg(1024)
    ->Arg(2048)
    ->UseRealTime();
BENCHMARK_CAPTURE(square, float64, DType::float64)->Arg(16)->Arg(256)->Arg(1024)->UseRealTime();
BENCHMARK_CAPTURE(square, bfloat16, DType::bfloat16)->Arg(16)->Arg(256)->Arg(1024)->UseRealTime();
BENCHMARK_CAPTURE(square, float16, DType::float16)->Arg(16)->Arg(256)->Arg(1024)->UseRealTime();

void linear_layer(benchmark::State& state) { multiply(state, DType::float32, {state.range(0), 784}, {784, 512}, true); }
BENCHMARK(linear_layer)->Arg(1)->Arg(32)->Arg(128)->UseRealTime();

/// The gradients of that layer's weights and inputs.
void weight_gradient(benchmark::State& state) {
  lento::MatmulProblem problem = lento::MatmulProblem::of(DType::float32, {784, state.range(0)}, {state.range(0), 512});
  problem.a.row = 1;
  problem.a.column = problem.m;
  run_product(state, problem);
}
BENCHMARK(weight_gradient)->Arg(128)->UseRealTime();
void input_gradient(benchmark::State& state) {
  multiply(state, DType::float32, {state.range(0), 512}, {512, 784}, false);
}
BENCHMARK(input_gradient)->Arg(128)->UseRealTime();
void last_layer(benchmark::State& state) { multiply(state, DType::float32, {state.range(0), 512}, {512, 10}, true); }
BENCHMARK(last_layer)->Arg(128)->UseRealTime();

void few_large(benchmark::State& state) { multiply(state, DType::float32, {8, 256, 256}, {8, 256, 256}, false); }
BENCHMARK(few_large)->UseRealTime();

void attention_scores(benchmark::State& state) {
  multiply(state, DType::float32, {8, 12, 128, 64}, {8, 12, 64, 128}, true);
}
BENCHMARK(attention_scores)->UseRealTime();

void many_small(benchmark::State& state) {
  multiply(state, DType::float32, {1000, state.range(0), state.range(0)}, {1000, state.range(0), state.range(0)},
           false);
}
BENCHMARK(many_small)->Arg(4)->Arg(16)->UseRealTime();

void convolve(benchmark::State& state, lento::ConvolutionKind kind) {
  const std::int64_t n = state.range(0), c = state.range(1), h = state.range(2), o = state.range(3), k = state.range(4);
  const std::int64_t groups = state.range(5);
  const lento::ConvolutionProblem problem{
      kind, DType::float32, {n, c, h, h}, {o, c / groups, k, k}, {n, o, h, h}, {1, 1}, {k / 2, k / 2}, {1, 1}, groups};
  const auto prepared = lento::cpu::PreparedConvolution::make(problem);
  if (prepared == nullptr) return state.SkipWithError("not supported");
  auto x = ones(DType::float32, element_count(problem.x));
  auto weight = ones(DType::float32, element_count(problem.weight));
  auto y = ones(DType::float32, element_count(problem.y));
  for (auto _ : state) prepared->run(x.data(), weight.data(), y.data());
  set_rate(state, prepared->products());
}
void convolution_shapes(benchmark::internal::Benchmark* bench) {
  bench->Args({32, 1, 28, 32, 3, 1})
      ->Args({8, 64, 56, 64, 3, 1})
      ->Args({1, 64, 56, 64, 3, 1})
      ->Args({1, 256, 14, 1024, 1, 1});
  bench->Args({4, 128, 28, 128, 3, 128})->UseRealTime();
}
BENCHMARK_CAPTURE(convolve, forward, lento::ConvolutionKind::forward)->Apply(convolution_shapes);
BENCHMARK_CAPTURE(convolve, input_grad, lento::ConvolutionKind::input_grad)->Apply(convolution_shapes);
BENCHMARK_CAPTURE(convolve, weight_grad, lento::ConvolutionKind::weight_grad)->Apply(convolution_shapes);

void parallel_for_nothing(benchmark::State& state) {
  std::vector<int> done(64 * 64);
  for (auto _ : state) {
    lento::cpu::parallel_for(lento::get_num_threads(), 1, [&](std::int64_t begin, std::int64_t) {
      ++done[static_cast<std::size_t>(begin % 64) * 64];
    });
  }
}
BENCHMARK(parallel_for_nothing)->UseRealTime();

/// Loops over an array that are as long as this many microseconds on one thread: what is left of that on several, and
/// what it costs when the helpers sleep before each loop.
void short_loop(benchmark::State& state, bool asleep) {
  constexpr std::int64_t kElements = 1 << 16;
  std::vector<float> x(kElements, 1.0F);
  const std::int64_t rounds = state.range(0);
  // As the kernels of a step say it: what takes less than 5 µs is not worth another thread.
  const std::int64_t grain = kElements / std::max<std::int64_t>(rounds * 8 / 5, 1);
  for (auto _ : state) {
    if (asleep) std::this_thread::sleep_for(std::chrono::microseconds(500));
    const auto start = std::chrono::steady_clock::now();
    lento::cpu::parallel_for(kElements, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t round = 0; round < rounds; ++round) {
        for (std::int64_t i = begin; i < end; ++i) x[static_cast<std::size_t>(i)] *= 0.9999F;
        benchmark::ClobberMemory();
      }
    });
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(taken.count());
  }
}
BENCHMARK_CAPTURE(short_loop, awake, false)->Arg(1)->Arg(4)->Arg(16)->UseManualTime();
BENCHMARK_CAPTURE(short_loop, asleep, true)->Arg(4)->Arg(16)->UseManualTime()->Iterations(500);

void parallel_for_inline(benchmark::State& state) {
  for (auto _ : state) {
    lento::cpu::parallel_for(100, 1000,
                             [&](std::int64_t begin, std::int64_t end) { benchmark::DoNotOptimize(begin + end); });
  }
}
BENCHMARK(parallel_for_inline);

void allocate_and_free(benchmark::State& state) {
  const SecondThread second;
  for (auto _ : state) benchmark::DoNotOptimize(lento::cpu::allocate_cpu(static_cast<std::size_t>(state.range(0)), 0));
}
BENCHMARK(allocate_and_free)->Arg(64)->Arg(4096)->Arg(1 << 22);
BENCHMARK(allocate_and_free)->Arg(4096)->Threads(2);

void allocate_and_free_host(benchmark::State& state) {
  const SecondThread second;
  for (auto _ : state) benchmark::DoNotOptimize(lento::allocate_host(static_cast<std::size_t>(state.range(0)), 0));
}
BENCHMARK(allocate_and_free_host)->Arg(64)->Arg(4096)->Arg(1 << 22);

}  // namespace

BENCHMARK_MAIN();

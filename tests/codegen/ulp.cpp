// `make ulp`: the worst error of every function of one float32 over all of them, of two over random pairs, and of
// float64 over random arguments. Arguments on the command line choose functions.
#include "codegen/measure.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

namespace lento::testing {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr std::size_t kThreads = 2;

struct Found {
  double ulp = 0.5;
  double a = 0;
  double b = 0;
};

/// The arguments of chunk `chunk`: for one float32 the next of all bits, else random.
template <class T>
Arguments<T> chunk_of(const MathFunction& function, std::size_t chunk) {
  if (sizeof(T) == 8 || function.arity == 2) return arguments_for<T>(function, kChunk, 1000 + 2 * chunk);
  Arguments<T> arguments;
  arguments.a.resize(kChunk);
  if constexpr (sizeof(T) == 4) {
    for (std::size_t i = 0; i < kChunk; ++i) {
      arguments.a[i] = std::bit_cast<T>(static_cast<std::uint32_t>(chunk * kChunk + i));
    }
  }
  arguments.b = arguments.a;
  return arguments;
}

template <class T>
Found sweep(const MathFunction& function, std::size_t chunks) {
  const MathCode code = MathCode::compile<T>(function.op, function.arity, 64 / sizeof(T), "host");
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  Found worst;
  const auto work = [&] {
    std::vector<T> out(kChunk);
    for (std::size_t chunk = next++; chunk < chunks; chunk = next++) {
      const Arguments<T> arguments = chunk_of<T>(function, chunk);
      code.run(std::span<const T>(arguments.a), std::span<const T>(arguments.b), std::span<T>(out));
      const WorstError error = worst_error<T>(function, arguments.a, arguments.b, out);
      const std::lock_guard lock(mutex);
      if (error.ulp > worst.ulp) worst = {error.ulp, arguments.a[error.index], arguments.b[error.index]};
      std::fprintf(stderr, "\r%s: %zu of %zu, %.3f ulp  ", function.name, chunk + 1, chunks, worst.ulp);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  std::fprintf(stderr, "\r%60s\r", "");
  return worst;
}

/// Nanoseconds an element in the first level of the cache, for arguments between 0 and 1.
template <class T>
double time_of(const MathFunction& function) {
  constexpr std::size_t kCount = 1024;
  const MathCode code = MathCode::compile<T>(function.op, function.arity, 64 / sizeof(T), "host");
  std::vector<T> a(kCount);
  std::vector<T> out(kCount);
  for (std::size_t i = 0; i < kCount; ++i) a[i] = (static_cast<T>(i) + T{0.5}) / kCount;
  double best = 1e9;
  for (int repeat = 0; repeat < 500; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 8; ++i) code.run(std::span<const T>(a), std::span<const T>(a), std::span<T>(out));
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count() / (8 * kCount));
  }
  return best;
}

void report(const MathFunction& function) {
  const Found single = sweep<float>(function, function.arity == 1 ? 4096 : 64);
  const Found wide = sweep<double>(function, 4);
  std::printf("| %s | %.3f | %.2f | %.3f | %.2f |\n", function.name, single.ulp, time_of<float>(function), wide.ulp,
              time_of<double>(function));
  std::fprintf(stderr, "  worst: float32 (%a, %a), float64 (%a, %a)\n", single.a, single.b, wide.a, wide.b);
  std::fflush(stdout);
}

}  // namespace
}  // namespace lento::testing

int main(int argc, char** argv) {
  std::printf("| function | float32, ulp | float32, ns | float64, ulp | float64, ns |\n|---|---|---|---|---|\n");
  for (const auto& function : lento::testing::math_functions()) {
    const bool wanted =
        std::any_of(argv + 1, argv + argc, [&](const char* name) { return std::string(name) == function.name; });
    if (argc == 1 || wanted) lento::testing::report(function);
  }
}

// The smallest costs: a count (budget: 2 ns), the owner's side of a tape's lock, an interned shape.
#include "base/biased_lock.h"
#include "base/counters.h"
#include "ir/shape_table.h"
#include "second_thread.h"

#include <benchmark/benchmark.h>

namespace {

void count_once(benchmark::State& state) {
  const SecondThread second;
  const lento::CounterId id = lento::counter_id("bench.count");
  for (auto _ : state) lento::count(id);
}
BENCHMARK(count_once);

void lock_as_owner(benchmark::State& state) {
  const SecondThread second;
  lento::BiasedLock lock;
  for (auto _ : state) {
    lock.lock_owner();
    benchmark::ClobberMemory();
    lock.unlock_owner();
  }
}
BENCHMARK(lock_as_owner);

void intern_known_shape(benchmark::State& state) {
  const SecondThread second;
  const lento::Shape shape{128, 784};
  for (auto _ : state) benchmark::DoNotOptimize(lento::intern_shape(shape));
}
BENCHMARK(intern_known_shape);

}  // namespace

BENCHMARK_MAIN();

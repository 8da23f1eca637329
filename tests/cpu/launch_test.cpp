// What running kernels notes about them, and that all of a batch run.
#include "backends/cpu/launch.h"

#include "backends/cpu/launch_batch.h"
#include "backends/cpu/launch_chain.h"
#include "cpu/random_kernel.h"

#include <lento/threads.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace lento::testing {
namespace {

struct Prepared {
  KernelCall call;
  std::vector<std::vector<std::byte>> memory;
  std::vector<void*> addresses;
  CachedKernelRef code;
  KernelArguments arguments;

  explicit Prepared(CachedKernelRef compiled = nullptr) : code(std::move(compiled)) {
    Random random(1);
    call = every_cast(random, DType::float32, 5000);
    memory = call.memory;
    if (code == nullptr) compile();
    arguments = call.arguments(memory, addresses);
  }

  void compile() {
    // Of tier zero: it is not compiled again meanwhile.
    code = std::make_shared<CachedKernel>(call.kernel, CodeTier::zero, cpu::code_maker());
    code->ensure_compiled();
  }

  KernelLaunch launch(double cost) const {
    return {.binary = code.get(), .kernel = &call.kernel, .arguments = arguments, .sizes = call.sizes, .cost = cost};
  }
};

constexpr double kThreeMilliseconds = 3e6 / cpu::kNanosecondsPerInstruction;

TEST(Launch, LongRunsCountAsManyUses) {
  const Prepared once, often;
  cpu::launch(once.launch(1));
  EXPECT_EQ(once.code->uses(), 1U);
  cpu::launch(often.launch(kThreeMilliseconds));
  EXPECT_GT(often.code->uses(), 20U);
}

TEST(Launch, LongRunsOfAChainDoTooForEachKernelInIt) {
  const Prepared first, second;
  const KernelLaunch launches[] = {first.launch(kThreeMilliseconds), second.launch(kThreeMilliseconds)};
  Chain chain;
  chain.tile = 2048;
  cpu::launch_chain(launches, {}, chain);
  EXPECT_GT(first.code->uses(), 20U);
  EXPECT_EQ(second.code->uses(), first.code->uses());
}

TEST(Launch, EachKernelOfABatchCountsItsOwnWork) {
  const Prepared small, large;
  const KernelLaunch launches[] = {small.launch(1), large.launch(kThreeMilliseconds)};
  cpu::launch_batch(launches);
  EXPECT_EQ(small.code->uses(), 1U);
  EXPECT_GT(large.code->uses(), 20U);
}

TEST(Launch, EveryKernelOfABatchRunsOnSomeThread) {
  const int before = get_num_threads();
  const Prepared alone;
  cpu::launch(alone.launch(1));
  std::vector<std::unique_ptr<Prepared>> all;
  for (int i = 0; i < 40; ++i) all.push_back(std::make_unique<Prepared>(alone.code));
  for (const int threads : {1, 2, 5}) {
    for (const double cost : {0.0, cpu::kGrain / 3, cpu::kGrain, cpu::kGrain * 4}) {
      set_num_threads(threads);
      std::vector<KernelLaunch> launches;
      for (const auto& one : all) {
        for (std::size_t i = 0; i < one->memory.size(); ++i) {
          std::ranges::copy(one->call.memory[i], one->memory[i].begin());
        }
        launches.push_back(one->launch(one == all[7] ? cpu::kGrain * 3 : cost));
      }
      cpu::launch_batch(launches);
      for (const auto& one : all) EXPECT_EQ(one->memory, alone.memory) << threads << " threads, cost " << cost;
    }
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace lento::testing

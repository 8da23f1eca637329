// What running a kernel notes about it.
#include "backends/cpu/launch.h"

#include "backends/cpu/launch_chain.h"
#include "cpu/random_kernel.h"

#include <gtest/gtest.h>

#include <vector>

namespace lento::testing {
namespace {

struct Prepared {
  KernelCall call;
  std::vector<std::vector<std::byte>> memory;
  std::vector<void*> addresses;
  CachedKernelRef code;
  KernelArguments arguments;

  Prepared() {
    Random random(1);
    call = every_cast(random, DType::float32, 5000);
    memory = call.memory;
    // Of tier zero: it is not compiled again meanwhile.
    code = std::make_shared<CachedKernel>(call.kernel, CodeTier::zero, cpu::code_maker());
    code->ensure_compiled();
    arguments = call.arguments(memory, addresses);
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

}  // namespace
}  // namespace lento::testing

// Objects that were kept on disk run as those that were just compiled.
#include "backend/disk_cache.h"
#include "backend/kernel_identity.h"
#include "backends/cpu/code/jit.h"
#include "cpu/random_kernel.h"
#include "temporary_folder.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace lento::testing {
namespace {

using Bytes = std::vector<std::byte>;

TEST(KeptCode, E11_GivesTheSameBits) {
  Random random(11);
  const TemporaryFolder folder;
  DiskCache cache(folder.path().string(), std::size_t{64} << 20);
  for (int round = 0; round < 30; ++round) {
    const auto form = static_cast<LoopForm>(round % 3);
    const KernelCall call = random_kernel(
        random, {.form = form, .dtypes = {DType::float32, DType::float64, DType::int32}, .with_functions = true});
    const Tier tier = round % 2 == 0 ? Tier::zero : Tier::one;
    const Bytes key = kernel_identity(call.kernel, cpu::code_maker()->target(tier));
    const Bytes object = cpu::compile_object(call.kernel, tier);
    cache.store(key, object);
    const std::optional<Bytes> kept = DiskCache(folder.path().string(), std::size_t{64} << 20).load(key);
    ASSERT_EQ(kept, object);
    const auto run = [&](const Bytes& code) {
      std::vector<Bytes> memory = call.memory;
      std::vector<void*> addresses;
      cpu::load_object(call.kernel, code)->run(call.arguments(memory, addresses), call.whole());
      return memory;
    };
    EXPECT_EQ(run(*kept), run(object)) << to_string(call.kernel);
  }
}

TEST(KeptCode, E11_IsKeptApartByTierAndInstructionSet) {
  const CodeMakerRef maker = cpu::code_maker();
  EXPECT_NE(maker->target(Tier::zero), maker->target(Tier::one));
  EXPECT_NE(cpu::code_target(cpu::Isa::avx2), cpu::code_target(cpu::Isa::avx512));
  EXPECT_NE(maker->target(Tier::zero).find(cpu::code_target(cpu::host_isa())), std::string::npos);
}

}  // namespace
}  // namespace lento::testing

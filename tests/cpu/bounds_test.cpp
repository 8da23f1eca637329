// Generated code touches no byte beside its operands: they lie against pages that cannot be read.
#include "backends/cpu/code/jit.h"
#include "cpu/fenced_memory.h"
#include "cpu/random_kernel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace lento::testing {
namespace {

/// Runs the call on fenced copies of its operands' memory, without the spare elements around them.
void run_fenced(const KernelCall& call, const cpu::KernelCode& code, bool at_end) {
  std::vector<FencedMemory> fenced;
  std::vector<void*> addresses;
  for (std::size_t j = 0; j < call.memory.size(); ++j) {
    const std::size_t element = size_of(call.kernel.operands[j].dtype);
    const std::size_t bytes = call.memory[j].size() - 2 * kGuard * element;
    fenced.emplace_back(bytes, at_end);
    std::memcpy(fenced[j].data(), call.memory[j].data() + kGuard * element, bytes);
    const std::int64_t start = call.starts[j] - static_cast<std::int64_t>(kGuard);
    addresses.push_back(fenced[j].data() + start * static_cast<std::int64_t>(element));
  }
  code.run({call.sizes.data(), addresses.data(), call.strides.data(), call.numbers.data(), call.picked.data()},
           call.whole());
}

TEST(Bounds, NothingBesideTheOperandsIsTouched) {
  Random random(1);
  const DType dtypes[] = {DType::float32, DType::float16, DType::int8, DType::bool_, DType::float64, DType::complex128};
  for (const DType dtype : dtypes) {
    for (const LoopForm form : {LoopForm::map, LoopForm::row, LoopForm::column}) {
      for (const std::int64_t length : {1, 15, 70}) {
        KernelChoice choice;
        choice.form = form;
        choice.dtypes = {dtype, dtype, dtype};
        choice.steps = 3;
        choice.length = length;
        const KernelCall call = random_kernel(random, choice);
        for (const cpu::Isa isa : {cpu::Isa::avx2, cpu::Isa::avx512}) {
          if (isa > cpu::host_isa()) continue;
          for (const cpu::Tier tier : {cpu::Tier::zero, cpu::Tier::one}) {
            const auto code = cpu::compile_kernel(call.kernel, tier, isa);
            // A byte too many ends the program: there is nothing to expect.
            run_fenced(call, *code, true);
            run_fenced(call, *code, false);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace lento::testing

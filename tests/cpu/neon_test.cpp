// Code for ARM processors: objects are made of every kind of kernel. Nothing here can run them.
#include "backends/cpu/code/jit.h"
#include "cpu/arm_target.h"
#include "cpu/random_kernel.h"
#include "ir/op_elementwise.gen.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace lento::testing {
namespace {

class Neon : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { initialize_arm_target(); }
};

/// The machine that an ELF file says it is for.
int machine_of(const std::vector<std::byte>& object) {
  std::uint16_t machine = 0;
  if (object.size() > 20) std::memcpy(&machine, object.data() + 18, sizeof(machine));
  return machine;
}

void check(const Kernel& kernel) {
  constexpr int kArm64 = 183;
  for (const cpu::Tier tier : {cpu::Tier::zero, cpu::Tier::one}) {
    ASSERT_EQ(machine_of(cpu::compile_object(kernel, tier, cpu::Isa::neon)), kArm64) << to_string(kernel);
  }
}

TEST_F(Neon, ObjectsForAnotherProcessorAreRefused) {
  Random random(1);
  const Kernel kernel = random_kernel(random, {.dtypes = {DType::float32}}).kernel;
  EXPECT_THROW(cpu::load_object(kernel, cpu::compile_object(kernel, cpu::Tier::zero, cpu::Isa::neon)), BackendError);
}

TEST_F(Neon, ObjectsAreMadeOfRandomKernels) {
  for (int n = 0; n < kDTypeCount; ++n) {
    const DType dtype = static_cast<DType>(n);
    for (const LoopForm form : {LoopForm::map, LoopForm::row, LoopForm::column}) {
      Random random(static_cast<std::uint64_t>(n) * 10 + static_cast<std::uint64_t>(form));
      KernelChoice choice;
      choice.form = form;
      choice.dtypes = {dtype, dtype, static_cast<DType>(below(random, kDTypeCount))};
      choice.with_functions = true;
      choice.crossed = form == LoopForm::map && n % 2 == 0;
      check(random_kernel(random, choice).kernel);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(Neon, ObjectsAreMadeOfEveryOpCastAndReduction) {
  for (int n = 0; n < kDTypeCount; ++n) {
    const DType dtype = static_cast<DType>(n);
    Random random(1);
    KernelChoice choice;
    choice.dtypes = {dtype};
    for (const LoopForm form : {LoopForm::row, LoopForm::column}) {
      choice.form = form;
      check(every_reduction(random, choice).kernel);
    }
    check(every_op(random, dtype, 100).kernel);
    check(every_cast(random, dtype, 100).kernel);
    if (HasFatalFailure()) return;
  }
}

TEST_F(Neon, FloatsAreWorkedOnFourAtATime) {
  Kernel kernel;
  kernel.operands = {{DType::float32, InnerStride::one, true, false}, {DType::float32, InnerStride::one, true, true}};
  kernel.body = {{Instruction::Kind::load, {}, DType::float32, 0, 0, {}},
                 {Instruction::Kind::compute, op::add, DType::float32, 2, 0, {0, 0}},
                 {Instruction::Kind::store, {}, DType::float32, 1, 1, {1}}};
  verify(kernel);
  const std::string text = cpu::assembly_text(kernel, cpu::Tier::one, cpu::Isa::neon);
  EXPECT_NE(text.find("fadd\tv"), std::string::npos) << text;
  EXPECT_NE(text.find(".4s"), std::string::npos) << text;
}

}  // namespace
}  // namespace lento::testing

// The identity of a kernel's code tells apart whatever may not share code.
#include "backend/kernel_identity.h"

#include "base/build_id.h"
#include "compiler/softmax_kernel.h"
#include "ir/op_elementwise.gen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lento::testing {
namespace {

TEST(KernelIdentity, E11_HoldsEverythingThatDecidesTheCode) {
  ASSERT_FALSE(build_id().empty());
  Kernel kernel = softmax_kernel(LoopForm::row);
  kernel.numbers = {DType::int32};
  std::vector<std::vector<std::byte>> identities = {kernel_identity(kernel, "a processor, tier 0"),
                                                    kernel_identity(kernel, "a processor, tier 1"),
                                                    kernel_identity(kernel, "another, tier 0")};
  const auto changed = [&](const auto& change) {
    Kernel other = kernel;
    change(other);
    ASSERT_NE(other, kernel);
    identities.push_back(kernel_identity(other, "a processor, tier 0"));
  };
  changed([](Kernel& k) { k.form = LoopForm::column; });
  changed([](Kernel& k) { k.form = LoopForm::map; });
  changed([](Kernel& k) { ++k.dims; });
  changed([](Kernel& k) { k.operands.emplace_back(); });
  changed([](Kernel& k) { k.numbers.push_back(DType::float32); });
  changed([](Kernel& k) { k.numbers[0] = DType::float32; });
  changed([](Kernel& k) { k.body.emplace_back(); });
  for (std::size_t j = 0; j < kernel.operands.size(); ++j) {
    changed([j](Kernel& k) { k.operands[j].dtype = DType::complex128; });
    changed([j](Kernel& k) { k.operands[j].inner = InnerStride::any; });
    changed([j](Kernel& k) { k.operands[j].moves = !k.operands[j].moves; });
    changed([j](Kernel& k) { k.operands[j].output = !k.operands[j].output; });
    changed([j](Kernel& k) { k.operands[j].picked_by = 1; });
    changed([j](Kernel& k) { k.operands[j].counted = true; });
  }
  for (std::size_t i = 0; i < kernel.body.size(); ++i) {
    changed([i](Kernel& k) { k.body[i].kind = Instruction::Kind::cast; });
    changed([i](Kernel& k) { k.body[i].op = k.body[i].op == op::add ? op::subtract : op::add; });
    changed([i](Kernel& k) { k.body[i].dtype = DType::complex128; });
    changed([i](Kernel& k) { ++k.body[i].input_count; });
    changed([i](Kernel& k) { ++k.body[i].index; });
    for (std::size_t j = 0; j < 3; ++j) changed([i, j](Kernel& k) { ++k.body[i].inputs[j]; });
  }
  std::ranges::sort(identities);
  EXPECT_EQ(std::ranges::adjacent_find(identities), identities.end());
}

}  // namespace
}  // namespace lento::testing

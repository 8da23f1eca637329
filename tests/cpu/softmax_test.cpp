// Softmax as one kernel of three passes, which keeps exponentials in its output: the bits of the separate steps.
#include "backends/cpu/code/jit.h"
#include "compiler/softmax_kernel.h"
#include "ir/op_elementwise.gen.h"
#include "ir/op_reduction.gen.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace lento::testing {
namespace {

using Kind = Instruction::Kind;
constexpr DType kFloat = DType::float32;

constexpr KernelOperandInfo kInput{kFloat, InnerStride::one, true, false};
constexpr KernelOperandInfo kOutput{kFloat, InnerStride::one, true, true};

/// Of a matrix, along rows or down columns.
struct Layout {
  LoopForm form;
  std::int64_t rows, columns;

  /// Strides of the matrix, and of what there is one of a row or column.
  std::vector<std::int64_t> whole() const { return {columns, 1}; }
  std::vector<std::int64_t> reduced() const {
    return form == LoopForm::row ? std::vector<std::int64_t>{1, 0} : std::vector<std::int64_t>{0, 1};
  }
  KernelOperandInfo still(bool output) const {
    return {kFloat, form == LoopForm::row ? InnerStride::zero : InnerStride::one, false, output};
  }
};

struct Operand {
  float* data;
  std::vector<std::int64_t> strides;
};

void run(const Kernel& kernel, const Layout& layout, const std::vector<Operand>& operands, cpu::Tier tier) {
  verify(kernel);
  std::vector<void*> addresses;
  std::vector<std::int64_t> strides;
  for (const Operand& operand : operands) {
    addresses.push_back(operand.data);
    strides.insert(strides.end(), operand.strides.begin(), operand.strides.end());
  }
  const std::int64_t sizes[] = {layout.rows, layout.columns};
  const std::int64_t outer = kernel.form == LoopForm::column ? 1 : layout.rows;
  cpu::compile_kernel(kernel, tier)
      ->run({sizes, addresses.data(), strides.data(), nullptr, nullptr}, {0, outer, 0, layout.columns});
}

Kernel reduction(const Layout& layout, Op op) {
  Kernel kernel{layout.form, 2, {kInput, layout.still(true)}, {}, {}};
  kernel.body = {
      {Kind::load, {}, kFloat, 0, 0, {}}, {Kind::reduce, op, kFloat, 1, 0, {0}}, {Kind::store, {}, kFloat, 1, 1, {1}}};
  return kernel;
}

/// `op` of the matrix and the reduced values, and exp of it when told.
Kernel combination(const Layout& layout, Op op, bool exp) {
  KernelOperandInfo reduced = layout.still(false);
  reduced.moves = true;  // in a map it means nothing
  Kernel kernel{LoopForm::map, 2, {kInput, reduced, kOutput}, {}, {}};
  kernel.body = {{Kind::load, {}, kFloat, 0, 0, {}},
                 {Kind::load, {}, kFloat, 0, 1, {}},
                 {Kind::compute, op, kFloat, 2, 0, {0, 1}}};
  if (exp) kernel.body.push_back({Kind::compute, op::exp, kFloat, 1, 0, {2}});
  const auto last = static_cast<std::uint16_t>(kernel.body.size() - 1);
  kernel.body.push_back({Kind::store, {}, kFloat, 1, 2, {last}});
  return kernel;
}

void check(const Layout& layout, cpu::Tier tier) {
  const auto count = static_cast<std::size_t>(layout.rows * layout.columns);
  std::vector<float> x(count), separate(count), fused(count);
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 5);
  for (float& element : x) element = normal(random);
  std::vector<float> largest(static_cast<std::size_t>(std::max(layout.rows, layout.columns))), sums(largest.size());

  run(reduction(layout, op::reduce_max), layout, {{x.data(), layout.whole()}, {largest.data(), layout.reduced()}},
      tier);
  const Operand result{separate.data(), layout.whole()};
  run(combination(layout, op::subtract, true), layout,
      {{x.data(), layout.whole()}, {largest.data(), layout.reduced()}, result}, tier);
  run(reduction(layout, op::reduce_sum), layout, {result, {sums.data(), layout.reduced()}}, tier);
  run(combination(layout, op::divide, false), layout, {result, {sums.data(), layout.reduced()}, result}, tier);

  run(softmax_kernel(layout.form), layout, {{x.data(), layout.whole()}, {fused.data(), layout.whole()}}, tier);
  EXPECT_EQ(std::memcmp(separate.data(), fused.data(), count * sizeof(float)), 0);
  // In place, too.
  run(softmax_kernel(layout.form), layout, {{x.data(), layout.whole()}, {x.data(), layout.whole()}}, tier);
  EXPECT_EQ(std::memcmp(separate.data(), x.data(), count * sizeof(float)), 0);
}

TEST(Softmax, OneKernelHasTheBitsOfItsParts) {
  for (const LoopForm form : {LoopForm::row, LoopForm::column}) {
    for (const cpu::Tier tier : {cpu::Tier::zero, cpu::Tier::one}) {
      check({form, 5, 7}, tier);
      check({form, 37, 130}, tier);
      check({form, 100, 10}, tier);
      check({form, 3, 9000}, tier);
      check({form, 9000, 3}, tier);
    }
  }
}

}  // namespace
}  // namespace lento::testing

// Generated code against the specification: random kernels on every instruction set and tier, whole and in parts.
#include "backends/cpu/code/jit.h"
#include "backends/cpu/code/short_rows.h"
#include "cpu/check_kernel.h"
#include "cpu/random_kernel.h"
#include "ir/op_elementwise.gen.h"
#include "ir/op_random.gen.h"
#include "ir/op_reduction.gen.h"
#include "ir/op_sort.gen.h"

#include <lento/error.h>

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <thread>

namespace lento::testing {
namespace {

constexpr std::int64_t kLengths[] = {0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 100, 4095, 4096, 4097, 10000, 20481};
constexpr DType kAllDTypes[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16,  DType::bool_,
                                DType::int8,    DType::int16,   DType::int32,   DType::int64,     DType::uint8,
                                DType::uint16,  DType::uint32,  DType::uint64,  DType::complex64, DType::complex128};

void check_random_kernels(LoopForm form, std::uint64_t seed, std::size_t rounds,
                          std::span<const DType> dtypes = kAllDTypes, bool with_functions = false) {
  for (const DType dtype : dtypes) {
    for (std::size_t round = 0; round < rounds; ++round) {
      Random random(seed * 1000 + static_cast<std::uint64_t>(dtype) * 100 + round);
      KernelChoice choice;
      choice.form = form;
      choice.dtypes = {dtype, dtype};
      if (below(random, 2) == 0) choice.dtypes.push_back(static_cast<DType>(below(random, kDTypeCount)));
      choice.steps = 1 + below(random, 10);
      choice.length = kLengths[below(random, std::size(kLengths))];
      choice.values = round % 2 == 0 ? Values::plain : Values::special;
      choice.with_functions = with_functions;
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::string(name(dtype)) + ", round " +
                   std::to_string(round));
      check_kernel(random, random_kernel(random, choice), !with_functions);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Codegen, RandomMapsAreAsSpecified) { check_random_kernels(LoopForm::map, 1, 6); }
TEST(Codegen, RandomRowKernelsAreAsSpecified) { check_random_kernels(LoopForm::row, 2, 6); }
TEST(Codegen, RandomColumnKernelsAreAsSpecified) { check_random_kernels(LoopForm::column, 3, 6); }

TEST(Codegen, RandomKernelsOfShortRowsAreAsSpecified) {
  constexpr std::int64_t kShortLengths[] = {0, 1, 2, 3, 7, 8, 9, 10, 15, 16, 17, 31, 32, 33};
  const DType dtypes[] = {DType::float32, DType::float64, DType::int32, DType::int64, DType::uint32};
  std::size_t side_by_side = 0;
  for (const DType dtype : dtypes) {
    for (std::size_t round = 0; round < 8; ++round) {
      Random random(14'000 + static_cast<std::uint64_t>(dtype) * 100 + round);
      KernelChoice choice;
      choice.form = LoopForm::row;
      choice.dtypes = {dtype, dtype};
      choice.steps = 1 + below(random, 8);
      choice.length = kShortLengths[below(random, std::size(kShortLengths))];
      choice.values = round % 2 == 0 ? Values::plain : Values::special;
      choice.many_rows = true;
      choice.creates = round % 4 == 0;
      choice.with_functions = is_floating(dtype) && round % 4 == 1;
      SCOPED_TRACE(std::string(name(dtype)) + ", round " + std::to_string(round));
      const KernelCall call = random_kernel(random, choice);
      side_by_side += cpu::has_short_rows(call.kernel) ? 1 : 0;
      check_kernel(random, call, !choice.with_functions);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(side_by_side, 10U);
}

TEST(Codegen, RandomMapsOfTurnedOperandsAreAsSpecified) {
  for (const DType dtype : kAllDTypes) {
    for (std::size_t round = 0; round < 4; ++round) {
      Random random(11'000 + static_cast<std::uint64_t>(dtype) * 100 + round);
      KernelChoice choice;
      choice.dtypes = {dtype, dtype};
      choice.steps = 1 + below(random, 5);
      choice.crossed = true;
      SCOPED_TRACE(std::string(name(dtype)) + ", round " + std::to_string(round));
      check_kernel(random, random_kernel(random, choice));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Codegen, FunctionsHaveTheSameBitsOnEveryTierAndInstructionSet) {
  const DType dtypes[] = {DType::float16, DType::bfloat16, DType::float32, DType::float64};
  check_random_kernels(LoopForm::map, 8, 6, dtypes, true);
  check_random_kernels(LoopForm::row, 9, 6, dtypes, true);
  check_random_kernels(LoopForm::column, 10, 6, dtypes, true);
}

TEST(Codegen, T5_ElementsMadeOfPositionsAreAsSpecified) {
  const DType dtypes[] = {DType::float32, DType::uint32};
  for (const LoopForm form : {LoopForm::map, LoopForm::row, LoopForm::column}) {
    for (const DType dtype : dtypes) {
      for (std::size_t round = 0; round < 8; ++round) {
        Random random(12'000 + static_cast<std::uint64_t>(form) * 500 + static_cast<std::uint64_t>(dtype) * 20 + round);
        KernelChoice choice;
        choice.form = form;
        choice.dtypes = {dtype};
        choice.steps = 1 + below(random, 6);
        choice.length = kLengths[below(random, std::size(kLengths))];
        choice.crossed = form == LoopForm::map && round % 4 == 0;
        choice.creates = true;
        SCOPED_TRACE(std::string(name(dtype)) + ", round " + std::to_string(round));
        check_kernel(random, random_kernel(random, choice));
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// Nothing but drawn and stored, so that every length of a row and every start in a block is seen.
TEST(Codegen, T5_RandomBitsAreTheSameWhereverARowBegins) {
  for (const DType dtype : {DType::uint32, DType::uint64}) {
    KernelCall call;
    call.kernel.dims = 2;
    call.kernel.operands = {{.dtype = DType::uint8, .counted = true}, {.dtype = dtype, .output = true}};
    call.kernel.numbers = {DType::uint64, DType::uint64};
    call.kernel.body = {{Instruction::Kind::number, {}, DType::uint64, 0, 0, {}},
                        {Instruction::Kind::number, {}, DType::uint64, 0, 1, {}},
                        {Instruction::Kind::create, op::random_bits, dtype, 2, 0, {0, 1}},
                        {Instruction::Kind::store, {}, dtype, 1, 1, {2}}};
    const std::uint64_t numbers[] = {0x0123456789abcdef, 0, 0xfffffffffffffff9, 0};  // the counter wraps around
    call.numbers.resize(32);
    std::memcpy(call.numbers.data(), numbers, 32);
    Variants variants;
    for (const std::int64_t columns : {1, 3, 8, 37, 64, 101}) {
      call.sizes = {9, columns};
      call.strides = {columns, 1, columns, 1};
      call.starts = {columns % 7, static_cast<std::int64_t>(kGuard)};
      const auto elements = static_cast<std::size_t>(9 * columns) + 2 * kGuard;
      call.memory = {{}, std::vector<std::byte>(elements * size_of(dtype))};
      Random random(13);
      check_kernel(random, call, variants);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Codegen, EveryOpInEveryDTypeIsAsSpecified) {
  for (const DType dtype : kAllDTypes) {
    Random random(4);
    check_kernel(random, every_op(random, dtype, 20011));
    if (HasFatalFailure()) return;
  }
}

TEST(Codegen, EveryCastIsAsSpecified) {
  for (const DType dtype : kAllDTypes) {
    Random random(5);
    check_kernel(random, every_cast(random, dtype, 20011));
    if (HasFatalFailure()) return;
  }
}

void check_reductions(LoopForm form, Values values, std::span<const DType> dtypes) {
  for (const DType dtype : dtypes) {
    Random random(6);
    KernelChoice choice;
    choice.form = form;
    choice.dtypes = {dtype};
    choice.values = values;
    Variants variants;
    for (const std::int64_t length : {0, 1, 5, 16, 65, 4096, 4097, 28673}) {
      choice.length = length;
      check_kernel(random, every_reduction(random, choice), variants);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Codegen, ReductionsCombineInTheFixedOrder) {
  check_reductions(LoopForm::row, Values::plain, kAllDTypes);
  check_reductions(LoopForm::column, Values::plain, kAllDTypes);
}

TEST(Codegen, ASumOfNegativeZerosIsOne) {
  const DType dtypes[] = {DType::float16, DType::bfloat16, DType::float32, DType::float64, DType::complex64};
  check_reductions(LoopForm::row, Values::zeros, dtypes);
  check_reductions(LoopForm::column, Values::zeros, dtypes);
}

TEST(Codegen, LargestAndSmallestElementsMayBeZerosInfiniteAndNan) {
  const DType dtypes[] = {DType::float16, DType::float32, DType::float64};
  for (const Values values : {Values::signs, Values::nans}) {
    check_reductions(LoopForm::row, values, dtypes);
    check_reductions(LoopForm::column, values, dtypes);
  }
}

TEST(Codegen, TheSameKernelIsTheSameObjectOnEveryThread) {
  Random random(6);
  KernelChoice choice;
  choice.form = LoopForm::row;
  choice.dtypes = {DType::float32, DType::float16};
  const KernelCall call = random_kernel(random, choice);
  const std::vector<std::byte> expected = cpu::compile_object(call.kernel, cpu::Tier::one);
  std::vector<std::vector<std::byte>> objects(4);
  {
    std::vector<std::jthread> threads;
    for (auto& object : objects) {
      threads.emplace_back([&] { object = cpu::compile_object(call.kernel, cpu::Tier::one); });
    }
  }
  for (const auto& object : objects) EXPECT_EQ(object, expected);
}

TEST(Codegen, DamagedObjectsAreRefused) {
  Random random(7);
  const KernelCall call = every_cast(random, DType::float32, 10);
  std::vector<std::byte> object = cpu::compile_object(call.kernel, cpu::Tier::zero);
  EXPECT_GT(cpu::load_object(call.kernel, object)->code_bytes(), 0U);
  object[0] = std::byte{0};
  EXPECT_THROW(cpu::load_object(call.kernel, object), BackendError);
  EXPECT_THROW(cpu::load_object(call.kernel, {}), BackendError);
}

TEST(Codegen, ObjectsThatAreCutOffAreRefused) {
  Random random(8);
  const KernelCall call = every_cast(random, DType::float32, 10);
  const std::vector<std::byte> object = cpu::compile_object(call.kernel, cpu::Tier::zero);
  for (std::size_t bytes = 0; bytes < object.size(); ++bytes) {
    EXPECT_THROW(cpu::load_object(call.kernel, std::span(object).first(bytes)), BackendError) << bytes;
  }
}

TEST(Codegen, RefusesWhatHasNoIdentity) {
  EXPECT_FALSE(cpu::supports(op::reduce_prod, DType::complex64));
  EXPECT_FALSE(cpu::supports(op::arg_max, DType::complex64));
  EXPECT_TRUE(cpu::supports(op::arg_max, DType::bool_));
  EXPECT_FALSE(cpu::supports(op::sort_values, DType::float32));
  EXPECT_FALSE(cpu::supports(op::bitwise_and, DType::float32));
  EXPECT_TRUE(cpu::supports(op::reduce_sum, DType::complex64));
  EXPECT_TRUE(cpu::supports(op::exp, DType::complex128));
}

}  // namespace
}  // namespace lento::testing

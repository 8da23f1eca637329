// Generated code against the specification: random kernels on every instruction set and tier, whole and in parts.
#include "backends/cpu/jit.h"
#include "cpu/interpret.h"
#include "cpu/random_kernel.h"

#include <lento/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <sstream>
#include <string>
#include <thread>

namespace lento::testing {
namespace {

using Memory = std::vector<std::vector<std::byte>>;

std::string describe(const KernelCall& call) {
  std::ostringstream out;
  out << to_string(call.kernel) << "sizes:";
  for (const std::int64_t size : call.sizes) out << ' ' << size;
  out << " strides:";
  for (const std::int64_t stride : call.strides) out << ' ' << stride;
  return out.str();
}

std::string bytes_text(const KernelCall& call, std::size_t operand, std::int64_t at, const Memory& memory) {
  const std::size_t size = size_of(call.kernel.operands[operand].dtype);
  return Scalar::read(call.kernel.operands[operand].dtype, memory[operand].data() + static_cast<std::size_t>(at) * size)
      .to_string();
}

void expect_equal(const KernelCall& call, const Memory& expected, const Memory& actual, const std::string& what) {
  for (std::size_t j = 0; j < expected.size(); ++j) {
    const std::int64_t at = first_difference(call.kernel.operands[j].dtype, expected[j], actual[j]);
    ASSERT_EQ(at, -1) << what << ": operand " << j << ": " << bytes_text(call, j, at, expected) << " became "
                      << bytes_text(call, j, at, actual) << " at " << at - call.starts[j] << "\n"
                      << describe(call);
  }
}

std::vector<cpu::Isa> isas() {
  if (cpu::host_isa() == cpu::Isa::avx512) return {cpu::Isa::avx512, cpu::Isa::avx2};
  return {cpu::Isa::avx2};
}

/// The whole range cut at random: rows apart, and columns where a range has them.
std::vector<KernelRange> parts_of(Random& random, const KernelRange& whole, bool has_columns) {
  std::vector<KernelRange> parts;
  std::int64_t row = whole.begin;
  while (row < whole.end) {
    const std::int64_t rows = 1 + static_cast<std::int64_t>(below(random, static_cast<std::size_t>(whole.end - row)));
    std::int64_t column = whole.inner_begin;
    if (!has_columns) parts.push_back({row, row + rows, 0, 0});
    while (has_columns && column < whole.inner_end) {
      const auto left = static_cast<std::size_t>(whole.inner_end - column);
      const std::int64_t columns = 1 + static_cast<std::int64_t>(below(random, left));
      parts.push_back({row, row + rows, column, column + columns});
      column += columns;
    }
    row += rows;
  }
  std::shuffle(parts.begin(), parts.end(), random);
  return parts;
}

struct Variant {
  std::string what;
  std::shared_ptr<const cpu::KernelCode> code;
};

/// The code of the last kernel, for one that is called with several sizes.
struct Variants {
  Kernel kernel;
  std::vector<Variant> all;

  const std::vector<Variant>& of(const Kernel& wanted) {
    if (all.empty() || kernel != wanted) {
      kernel = wanted;
      all.clear();
      for (const cpu::Isa isa : isas()) {
        for (const cpu::Tier tier : {cpu::Tier::zero, cpu::Tier::one}) {
          const std::string what = std::string(isa == cpu::Isa::avx2 ? "AVX2" : "AVX-512") +
                                   (tier == cpu::Tier::zero ? ", tier 0" : ", tier 1");
          all.push_back({what, cpu::compile_kernel(kernel, tier, isa)});
        }
      }
    }
    return all;
  }
};

/// Compares all variants with each other, and with the specification unless the kernel has functions in it that
/// every backend computes in its own way.
void check_kernel(Random& random, const KernelCall& call, Variants& variants, bool specified = true) {
  ASSERT_NO_THROW(verify(call.kernel)) << describe(call);
  ASSERT_TRUE(cpu::can_generate(call.kernel)) << describe(call);
  std::vector<void*> addresses;
  Memory expected = call.memory;
  if (specified) {
    interpret(call.kernel, call.arguments(expected, addresses));
  } else {
    variants.of(call.kernel)[0].code->run(call.arguments(expected, addresses), call.whole());
  }
  for (const auto& [what, code] : variants.of(call.kernel)) {
    Memory actual = call.memory;
    code->run(call.arguments(actual, addresses), call.whole());
    expect_equal(call, expected, actual, what);
    if (::testing::Test::HasFatalFailure()) return;
    Memory in_parts = call.memory;
    const KernelArguments arguments = call.arguments(in_parts, addresses);
    for (const KernelRange& part : parts_of(random, call.whole(), call.kernel.form != LoopForm::row)) {
      code->run(arguments, part);
    }
    expect_equal(call, actual, in_parts, what + ", in parts");
    if (::testing::Test::HasFatalFailure()) return;
  }
}

void check_kernel(Random& random, const KernelCall& call, bool specified = true) {
  Variants variants;
  check_kernel(random, call, variants, specified);
}

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

TEST(Codegen, FunctionsHaveTheSameBitsOnEveryTierAndInstructionSet) {
  const DType dtypes[] = {DType::float16, DType::bfloat16, DType::float32, DType::float64};
  check_random_kernels(LoopForm::map, 8, 6, dtypes, true);
  check_random_kernels(LoopForm::row, 9, 6, dtypes, true);
  check_random_kernels(LoopForm::column, 10, 6, dtypes, true);
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

TEST(Codegen, RefusesWhatHasNoIdentityAndPositions) {
  EXPECT_FALSE(cpu::supports(Op::reduce_prod, DType::complex64));
  EXPECT_FALSE(cpu::supports(Op::arg_max, DType::float32));
  EXPECT_FALSE(cpu::supports(Op::sort_values, DType::float32));
  EXPECT_FALSE(cpu::supports(Op::bitwise_and, DType::float32));
  EXPECT_TRUE(cpu::supports(Op::reduce_sum, DType::complex64));
  EXPECT_TRUE(cpu::supports(Op::exp, DType::complex128));
}

}  // namespace
}  // namespace lento::testing

#include "cpu/check_kernel.h"

#include "backends/cpu/long_reduction.h"
#include "backends/reference/interpret_kernel.h"
#include "cpu/first_difference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <sstream>

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

/// Parts of the reduced dimension, of one block or a few.
Memory reduced_in_parts(Random& random, const KernelCall& call, const cpu::KernelCode& code) {
  Memory memory = call.memory;
  std::vector<void*> addresses;
  const KernelArguments arguments = call.arguments(memory, addresses);
  cpu::reduce_in_parts(call.kernel, call.sizes, std::int64_t{1} << below(random, 3),
                       [&](const cpu::KernelPart& part) { code.run_part(arguments, part); });
  return memory;
}

/// Operands begin at lines of the cache; whether all rows of an output do is left to chance.
Memory streamed(const KernelCall& call, const cpu::KernelCode& code) {
  constexpr std::size_t kLine = 64;
  Memory moved;
  std::vector<void*> addresses;
  for (std::size_t j = 0; j < call.memory.size(); ++j) {
    if (call.kernel.operands[j].counted) {
      moved.emplace_back();
      addresses.push_back(std::bit_cast<void*>(call.starts[j]));
      continue;
    }
    const std::size_t start = static_cast<std::size_t>(call.starts[j]) * size_of(call.kernel.operands[j].dtype);
    std::vector<std::byte>& memory = moved.emplace_back(call.memory[j].size() + kLine);
    const std::size_t shift = (kLine - (reinterpret_cast<std::uintptr_t>(memory.data()) + start) % kLine) % kLine;
    std::copy(call.memory[j].begin(), call.memory[j].end(), memory.begin() + static_cast<std::ptrdiff_t>(shift));
    addresses.push_back(memory.data() + shift + start);
  }
  code.run({call.sizes.data(), addresses.data(), call.strides.data(), call.numbers.data(), call.picked.data()},
           call.whole(), true);
  Memory result;
  for (std::size_t j = 0; j < moved.size(); ++j) {
    if (call.kernel.operands[j].counted) {
      result.emplace_back();
      continue;
    }
    const std::size_t start = static_cast<std::size_t>(call.starts[j]) * size_of(call.kernel.operands[j].dtype);
    const std::byte* first = static_cast<const std::byte*>(addresses[j]) - start;
    result.emplace_back(first, first + call.memory[j].size());
  }
  return result;
}

}  // namespace

std::vector<cpu::Isa> isas() {
  if (cpu::host_isa() == cpu::Isa::avx512) return {cpu::Isa::avx512, cpu::Isa::avx2};
  return {cpu::Isa::avx2};
}

const std::vector<Variant>& Variants::of(const Kernel& wanted) {
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

void check_kernel(Random& random, const KernelCall& call, Variants& variants, bool specified) {
  ASSERT_NO_THROW(verify(call.kernel)) << describe(call);
  ASSERT_TRUE(cpu::can_generate(call.kernel)) << describe(call);
  std::vector<void*> addresses;
  Memory expected = call.memory;
  if (specified) {
    reference::interpret(call.kernel, call.arguments(expected, addresses));
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
    if (call.kernel.form == LoopForm::map) {
      expect_equal(call, actual, streamed(call, *code), what + ", past the caches");
    } else {
      expect_equal(call, actual, reduced_in_parts(random, call, *code), what + ", reduced in parts");
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
}

void check_kernel(Random& random, const KernelCall& call, bool specified) {
  Variants variants;
  check_kernel(random, call, variants, specified);
}

}  // namespace lento::testing

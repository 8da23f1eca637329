// Runs, on an ARM processor, the kernels of neon_kernels.cpp and compares every bit of what they write. Each case is
// run by the code of each tier: whole, cut into parts at random, with operands against pages that cannot be touched,
// and, where it reduces, with reductions shared as threads share them. scripts/test-isa links this with the kernels.
//
//     neon_driver CASES COUNT    exits with 0 if the file has COUNT cases and all of them are right
#include "backends/cpu/code/kernel_loops.h"
#include "cpu/fenced_memory.h"
#include "cpu/first_difference.h"
#include "cpu/random_kernel.h"
#include "isa/kernel_case.h"

#include <algorithm>
#include <bit>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>

#ifndef __aarch64__
#error "This is for ARM processors."
#endif

/// Those of all cases (functions.cpp, which neon_kernels writes).
extern const lento::cpu::KernelFunction kernel_functions[];
extern const std::uint32_t kernel_function_count;

namespace lento::testing {
namespace {

using Memory = std::vector<Bytes>;

std::int64_t up_to(Random& random, std::int64_t limit) {
  return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
}

/// What the program is at when it touches what it may not.
const KernelCase* running = nullptr;

void tell_and_end(int) {
  const auto tell = [](const std::string& text) { return ::write(STDOUT_FILENO, text.data(), text.size()) >= 0; };
  const bool told = tell("FAILED: memory beside an operand was touched, or code ran astray, in\n") &&
                    (running == nullptr || tell(running->text + "\n"));
  std::_Exit(told ? 1 : 2);
}

/// The bytes of an element, the highest first.
std::string hex(const Bytes& memory, std::int64_t element, std::size_t size) {
  std::string text = "0x";
  for (std::size_t b = size; b-- > 0;) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x",
                  std::to_integer<unsigned>(memory[static_cast<std::size_t>(element) * size + b]));
    text += two;
  }
  return text;
}

/// One case with the function of one tier.
class Runner {
 public:
  Runner(const KernelCase& one, std::uint32_t tier)
      : case_(one), tier_(tier), calls_(one.kernel, kernel_functions[one.first_function + tier]) {}

  bool whole() {
    Memory memory = case_.memory;
    calls_.run(arguments(memory), range(), false);
    return is_right(memory, "whole");
  }

  /// A byte too many ends the program.
  void fenced(bool at_end) {
    std::vector<FencedMemory> memory;
    std::vector<void*> addresses;
    for (std::size_t j = 0; j < case_.memory.size(); ++j) {
      const KernelOperandInfo& operand = case_.kernel.operands[j];
      if (operand.counted) {
        addresses.push_back(std::bit_cast<void*>(case_.starts[j]));
        continue;
      }
      const std::size_t spare = kGuard * size_of(operand.dtype);
      const std::size_t bytes = case_.memory[j].size() - 2 * spare;
      std::byte* data = memory.emplace_back(bytes, at_end).data();
      std::copy_n(case_.memory[j].data() + spare, bytes, data);
      addresses.push_back(data + case_.starts[j] * std::int64_t(size_of(operand.dtype)) - std::int64_t(spare));
    }
    calls_.run({case_.sizes.data(), addresses.data(), case_.strides.data(), case_.numbers.data(), case_.picked.data()},
               range(), false);
  }

  bool in_parts(Random& random) {
    Memory memory = case_.memory;
    const KernelArguments arguments = this->arguments(memory);
    const KernelRange all = range();
    const bool has_columns = case_.kernel.form != LoopForm::row;
    for (std::int64_t row = all.begin; row < all.end;) {
      const std::int64_t rows = up_to(random, all.end - row);
      std::int64_t column = all.inner_begin;
      if (!has_columns) calls_.run(arguments, {row, row + rows, 0, 0}, false);
      while (has_columns && column < all.inner_end) {
        const std::int64_t columns = up_to(random, all.inner_end - column);
        calls_.run(arguments, {row, row + rows, column, column + columns}, false);
        column += columns;
      }
      row += rows;
    }
    return is_right(memory, "in parts");
  }

  bool reduced_in_parts() {
    if (case_.parts.empty()) return true;
    Memory memory = case_.memory;
    const KernelArguments arguments = this->arguments(memory);
    const std::int64_t columns = case_.kernel.form == LoopForm::column ? case_.sizes.back() : 1;
    for (std::size_t p = 0; p < case_.parts.size(); ++p) {
      const PartCall& call = case_.parts[p];
      const std::int64_t stride = call.part.result_stride;
      Bytes results(static_cast<std::size_t>(stride) * case_.slots.size());
      for_each_slot(case_.slots, columns, stride, [&](std::size_t at, std::size_t packed, std::size_t bytes) {
        std::copy_n(call.before.data() + packed, bytes, results.data() + at);
      });
      cpu::KernelPart part = call.part;
      part.results = results.data();
      calls_.run_part(arguments, part);
      std::size_t slot = 0;
      bool same = true;
      for_each_slot(case_.slots, columns, stride, [&](std::size_t at, std::size_t packed, std::size_t bytes) {
        const auto* actual = results.data() + at;
        const auto* expected = call.after.data() + packed;
        same &= case_.compared_slots[slot] == 0 ||
                compare(case_.slots[slot], Bytes(expected, expected + bytes), Bytes(actual, actual + bytes),
                        "reduced in parts, call " + std::to_string(p) + ", result " + std::to_string(slot), 0);
        ++slot;
      });
      if (!same) return false;
    }
    return is_right(memory, "reduced in parts");
  }

 private:
  KernelArguments arguments(Memory& memory) {
    addresses_.clear();
    for (std::size_t j = 0; j < memory.size(); ++j) {
      const KernelOperandInfo& operand = case_.kernel.operands[j];
      addresses_.push_back(operand.counted ? std::bit_cast<void*>(case_.starts[j])
                                           : memory[j].data() + case_.starts[j] * std::int64_t(size_of(operand.dtype)));
    }
    return {case_.sizes.data(), addresses_.data(), case_.strides.data(), case_.numbers.data(), case_.picked.data()};
  }

  KernelRange range() const {
    const std::size_t outer = case_.kernel.dims - (case_.kernel.form == LoopForm::column ? 2U : 1U);
    std::int64_t rows = 1;
    for (std::size_t d = 0; d < outer; ++d) rows *= case_.sizes[d];
    return {0, rows, 0, case_.kernel.form == LoopForm::row ? 0 : case_.sizes.back()};
  }

  bool is_right(const Memory& memory, const std::string& how) const {
    for (std::size_t j = 0; j < memory.size(); ++j) {
      if (case_.compared[j] == 0) continue;
      const std::string what = how + ", operand " + std::to_string(j);
      if (!compare(case_.kernel.operands[j].dtype, case_.expected[j], memory[j], what, case_.starts[j])) return false;
    }
    return true;
  }

  bool compare(DType dtype, const Bytes& expected, const Bytes& actual, const std::string& what,
               std::int64_t start) const {
    const std::int64_t at = first_difference(dtype, expected, actual);
    if (at == -1) return true;
    const std::size_t size = size_of(dtype);
    std::printf("FAILED, tier %u, %s: %s instead of %s at %lld, in function %u:\n%s\n", tier_, what.c_str(),
                hex(actual, at, size).c_str(), hex(expected, at, size).c_str(), static_cast<long long>(at - start),
                case_.first_function + tier_, case_.text.c_str());
    return false;
  }

  const KernelCase& case_;
  std::uint32_t tier_;
  cpu::KernelCalls calls_;
  std::vector<void*> addresses_;
};

int run(const std::string& file, std::size_t wanted) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // nothing printed is lost then
  std::signal(SIGSEGV, tell_and_end);
  std::signal(SIGBUS, tell_and_end);
  CaseReader reader(file);
  std::vector<KernelCase> cases;
  reader(cases);
  Random random(1);
  std::size_t failed = 0, functions = 0, parts = 0, left_out = 0;
  for (const KernelCase& one : cases) {
    bool right = true;
    for (std::uint32_t tier = 0; tier < kTiers; ++tier, ++functions) {
      Runner runner(one, tier);
      running = &one;
      runner.fenced(true);
      runner.fenced(false);
      right &= runner.whole() && runner.in_parts(random) && runner.reduced_in_parts();
    }
    parts += one.parts.size();
    left_out += static_cast<std::size_t>(std::count(one.compared.begin(), one.compared.end(), 0));
    if (!right) ++failed;
  }
  std::printf("%zu of %zu kernels are wrong on ARM: %zu functions, %zu parts of reductions. ", failed, cases.size(),
              functions, parts);
  std::printf("%zu results are the C library's, which are not compared.\n", left_out);
  if (cases.size() != wanted || functions != kernel_function_count) {
    std::printf("FAILED: there should be %zu kernels and %u functions\n", wanted, kernel_function_count);
    return 1;
  }
  return failed == 0 && !cases.empty() ? 0 : 1;
}

}  // namespace
}  // namespace lento::testing

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: neon_driver CASES COUNT\n");
    return 2;
  }
  try {
    return lento::testing::run(argv[1], std::strtoull(argv[2], nullptr, 10));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "neon_driver: %s\n", error.what());
    return 2;
  }
}

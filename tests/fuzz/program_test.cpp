// Random programs behave as if every op ran at once: 20,000 here, as many as one likes with LENTO_FUZZ_PROGRAMS.
#include "fuzz/program.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace lento::fuzz {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

bool fails(const Program& program) { return run_program(program, false) != run_program(program, true); }

TEST(Programs, BehaveAsIfEveryOpRanAtOnce) {
  const std::uint64_t first = from_environment("LENTO_FUZZ_FIRST", 0);
  const std::uint64_t count = from_environment("LENTO_FUZZ_PROGRAMS", 20'000);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Program program = random_program(seed);
    if (fails(program)) FAIL() << "seed " << seed << ", reduced:\n" << to_source(reduce(program, fails));
    if (count > 100'000 && seed % 10'000 == 0) std::cerr << "\r" << seed - first << " of " << count << std::flush;
  }
}

}  // namespace
}  // namespace lento::fuzz

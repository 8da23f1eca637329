// Random programs behave as if every op ran at once. The suite runs the same 20,000 every time; `make fuzz` looks
// further.
#include "fuzz/program.h"

#include "device_under_test.h"
#include "fuzz/reduce.h"
#include "fuzz/watch.h"

#include <lento/cache.h>
#include <lento/metrics.h>

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <limits>

namespace lento::fuzz {
namespace {

#if defined(LENTO_CONSTANT_HASH)
constexpr std::uint64_t kPrograms = 2'000;  // looking for a plan compares it with every plan there is
#elif defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kPrograms = 4'000;  // slower, and a test has 600 seconds
#else
constexpr std::uint64_t kPrograms = 20'000;
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || defined(LENTO_CONSTANT_HASH)
constexpr std::uint64_t kToyPrograms = 400;
#else
constexpr std::uint64_t kToyPrograms = 2'000;
#endif
constexpr std::uint64_t kParts =
    8;  // tests, which run side by side: programs wait for their threads more than they work

/// LENTO_FUZZ_FIRST: the first seed. LENTO_FUZZ_PROGRAMS: how many programs in all. LENTO_FUZZ_SECONDS: for how long
/// instead, with progress; 0 means until stopped.
void look_for_differences(std::uint64_t part, std::uint64_t programs_in_suite, Program (*program_of)(std::uint64_t)) {
  const bool looks_further = std::getenv("LENTO_FUZZ_SECONDS") != nullptr;
  const std::uint64_t all = from_environment("LENTO_FUZZ_PROGRAMS", programs_in_suite);
  const std::uint64_t begin = part * all / kParts;
  const std::uint64_t first = from_environment("LENTO_FUZZ_FIRST", 0) + begin;
  const std::uint64_t count =
      looks_further ? std::numeric_limits<std::uint64_t>::max() : (part + 1) * all / kParts - begin;
  const auto seconds = static_cast<double>(from_environment("LENTO_FUZZ_SECONDS", 0));
  // A program that has run before finds its plans; some failures need that they are made.
  const Fails fails = [](const Program& program) {
    if (!difference(program).empty()) return true;
    cache::clear();
    return !difference(program).empty();
  };
  LastWords last_words;
  Progress progress("programs");
  std::uint64_t programs = 0;
  for (; programs < count; ++programs) {
    const std::uint64_t seed = first + programs;
    last_words.set(seed);
    const Program program = program_of(seed);
    if (const std::string found = difference(program); !found.empty()) {
      LastWords::forget();
      const Reduced least = reduce(program, fails);
      FAIL() << "seed " << seed << ", " << found << "reduced (each part is needed in " << least.attempts
             << " attempts):\n"
             << to_test(least.program, "Seed" + std::to_string(seed));
    }
    if (!looks_further) continue;
    progress.show(seed, programs + 1);
    if (seconds > 0 && progress.seconds() > seconds) break;
  }
  if (looks_further) std::cerr << "\n" << programs << " programs, no difference\n";
}

class RandomPrograms : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomPrograms, BehaveAsIfEveryOpRanAtOnce) {
  look_for_differences(GetParam(), on_another_device() ? kToyPrograms : kPrograms, random_program);
}

// D1, D7: with pauses of its queues and with fallbacks.
TEST_P(RandomPrograms, BehaveSoOnTheToyDevice) { look_for_differences(GetParam(), kToyPrograms, random_toy_program); }

INSTANTIATE_TEST_SUITE_P(Part, RandomPrograms, ::testing::Range(std::uint64_t{0}, kParts));

TEST(Programs, ReachEverythingTheyAreMeantToReach) {
  static constexpr const char* kCounters[] = {"plan.hit",      "plan.miss",     "donation",
                                              "graph.trimmed", "launch.inline", "launch.worker",
                                              "closure.run",   "sync.implicit", "sync.wait"};
  std::array<std::uint64_t, std::size(kCounters)> before;
  for (std::size_t i = 0; i < before.size(); ++i) before[i] = metrics::counter(kCounters[i]);
  std::size_t failed_values = 0;
  std::size_t errors_of_calls = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const auto& thread : run_lazily(random_program(seed))) {
      for (const std::string& seen : thread) {
        failed_values += seen.find("out of") != std::string::npos ? 1 : 0;
        errors_of_calls += seen.find("on different devices") != std::string::npos ? 1 : 0;
        EXPECT_NE(seen, "did not run") << "seed " << seed;
      }
    }
  }
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_GT(metrics::counter(kCounters[i]), before[i]) << kCounters[i];
  EXPECT_GT(failed_values, 0);
  EXPECT_GT(errors_of_calls, 0);
}

}  // namespace
}  // namespace lento::fuzz

// The fuzzer itself: planted faults are found and reduced to the least that shows them, and what is printed runs.
#include "fuzz/reduce.h"

#include "fuzz/operations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

namespace lento::fuzz {
namespace {

/// The text between R"( and )" of a printed test.
std::string program_of(const std::string& test) {
  const std::size_t begin = test.find("R\"(") + 3;
  return test.substr(begin, test.find(")\"") - begin);
}

/// After the cache has been cleared, flip gives something else, on any thread.
class PlantedFault {
 public:
  std::string difference_of(const Program& program) {
    std::atomic<bool> cleared{false};
    return difference(program, [&cleared](std::string_view operation, Tensor& target) {
      if (operation == "clear_cache") cleared = true;
      if (operation == "flip" && cleared && target.defined()) target = target + 1.0;
    });
  }
};

bool has(const Program& program, std::string_view name, std::size_t phase, std::size_t thread) {
  if (phase >= program.phases.size() || thread >= program.phases[phase].size()) return false;
  const std::uint8_t operation = operation_named(name);
  return std::ranges::any_of(program.phases[phase][thread],
                             [&](const Instruction& i) { return i.operation == operation; });
}

TEST(Reducer, FindsAPlantedFaultAndLeavesNothingThatIsNotNeeded) {
  PlantedFault fault;
  const Fails fails = [&](const Program& program) { return !fault.difference_of(program).empty(); };
  std::uint64_t seed = 0;
  while (seed < 5000 && (random_program(seed).threads != 1 || !fails(random_program(seed)))) ++seed;
  ASSERT_LT(seed, 5000) << "the programs do not reach the fault";
  const Program reduced = reduce(random_program(seed), fails).program;
  const std::string test = to_test(reduced, "Planted");
  // The inputs are symmetric under nothing, so one load, one flip and the clearing between them are the least.
  EXPECT_EQ(reduced.threads, 1) << test;
  ASSERT_EQ(reduced.phases.size(), 1) << test;
  ASSERT_EQ(reduced.phases[0][0].size(), 3) << test;
  EXPECT_TRUE(has(reduced, "clear_cache", 0, 0) && has(reduced, "flip", 0, 0)) << test;
  EXPECT_TRUE(has(reduced, "load", 0, 0) || has(reduced, "load_async", 0, 0)) << test;
  // What is printed is the program that fails, and with the fault taken out it is right.
  const Program again = parse(program_of(test));
  EXPECT_EQ(again, reduced);
  EXPECT_NE(fault.difference_of(again), "");
  EXPECT_EQ(difference(again), "");
}

TEST(Reducer, ReducesWhatFailsOnlySometimesAndNeedsTwoThreads) {
  // Fails every third time it is asked, when one thread publishes and another one imports later.
  int asked = 0;
  const Fails fails = [&asked](const Program& program) {
    for (std::size_t p = 1; p < program.phases.size(); ++p) {
      for (std::size_t t = 0; t < program.phases[p].size(); ++t) {
        for (std::size_t from = 0; from < program.phases[p].size(); ++from) {
          if (from != t && has(program, "publish", p - 1, from) && has(program, "import", p, t))
            return ++asked % 3 == 0;
        }
      }
    }
    return false;
  };
  std::uint64_t seed = 0;
  while (seed < 1000 && (random_program(seed).threads < 4 || attempts_for(random_program(seed), fails) == 100)) ++seed;
  ASSERT_LT(seed, 1000);
  const auto [reduced, attempts] = reduce(random_program(seed), fails);
  EXPECT_GE(attempts, 3);
  EXPECT_EQ(reduced.threads, 2) << to_text(reduced);
  EXPECT_EQ(reduced.phases.size(), 2) << to_text(reduced);
  std::size_t instructions = 0;
  for (const auto& phase : reduced.phases) {
    for (const Instructions& list : phase) instructions += list.size();
  }
  EXPECT_EQ(instructions, 2) << to_text(reduced);
  EXPECT_EQ(reduced.max_pending_nodes, 0);
  EXPECT_EQ(reduced.max_inflight_steps, 0);
}

TEST(ProgramText, ParsesBackIntoTheSameProgram) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Program program = random_program(seed);
    ASSERT_EQ(parse(to_text(program)), program) << to_text(program);
    const Program on_toy = random_toy_program(seed);
    ASSERT_EQ(parse(to_text(on_toy)), on_toy) << to_text(on_toy);
  }
}

TEST(ProgramText, IsOneInstructionALine) {
  Program program;
  program.threads = 2;
  program.max_pending_nodes = 7;
  program.phases = {{{{operation_named("load"), 1, 2, 0, 0}, {operation_named("add_number"), 0, 1, 0, 0.25}}, {}},
                    {{}, {{operation_named("import"), 3, 0, 2, 0}, {operation_named("step")}}}};
  EXPECT_EQ(to_test(program, "Example"), R"~(TEST(FoundPrograms, Example) {
  EXPECT_EQ(difference(parse(R"(
threads 2
max_pending_nodes 7
phase
thread 0
  load r1 i2
  add_number r0 r1 0.25
phase
thread 1
  import r3 t0 s2
  step
)")), "");
}
)~");
}

TEST(ProgramText, ErrorsNameTheLine) {
  const auto message = [](std::string_view text) -> std::string {
    try {
      (void)parse(text);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(message("threads 0"), "line 1: there are 1 to 64 threads");
  EXPECT_EQ(message("threads 1\ntoy much 3"), "line 2: a toy device supports all, kernels or few");
  EXPECT_EQ(message("threads 1\nphase\nthread 1"), "line 3: there is no such thread here");
  EXPECT_EQ(message("threads 1\nphase\n  step"), "line 3: an instruction belongs to a thread");
  EXPECT_EQ(message("threads 1\nphase\nthread 0\n  jump"), "line 4: there is no operation 'jump'");
  EXPECT_EQ(message("threads 1\nphase\nthread 0\n  sin r0 r9"), "line 4: 'r9' is too large");
  EXPECT_EQ(message("threads 1\nphase\nthread 0\n  sin r0"), "line 4: an operand r is missing");
  EXPECT_EQ(message("threads 1\nphase\nthread 0\n  sin r0 i0"), "line 4: 'i0' should begin with r");
  EXPECT_EQ(message("threads 1\nphase\nthread 0\n  step now"), "line 4: 'now' is too much");
}

}  // namespace
}  // namespace lento::fuzz

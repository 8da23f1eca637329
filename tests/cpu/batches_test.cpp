// Batches while they run: what comes out is what the kernels give one after the other, also when something fails and
// when results are written over inputs.
#include "backends/cpu/launch.h"
#include "backends/reference/interpreter.h"
#include "base/counters.h"
#include "cpu/cpu_program.h"
#include "cpu/interpreting_driver.h"
#include "ir/random_graph.h"
#include "ir/random_inputs.h"
#include "ir/run_graph.h"

#include <lento/threads.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace lento::test {
namespace {

Target with_batches(Target target, double cost, std::size_t kernels) {
  target.batch_cost = cost;
  target.batch_kernels = kernels;
  return target;
}
Target all_in_batches() { return with_batches(cpu::cpu_driver().target(), 1e12, 1000); }
Target no_batches() { return with_batches(cpu::cpu_driver().target(), 0, 0); }

/// Some dozen elementwise ops and reductions, hardly any of which depend on each other.
RandomGraph random_kernels(std::uint64_t seed) {
  RandomGraphBuilder builder(seed, seed % 4 == 0 ? 3000 : 5);
  std::vector<Op> ops;
  for (const Op op : all_primitives()) {
    const Family family = info(op).family;
    if (info(op).elementwise() || family == Family::reduction) ops.push_back(op);
  }
  for (std::size_t i = 0; i < 40; ++i) builder.add(ops[(seed * 31 + i * 7) % ops.size()]);
  return builder.finish();
}

std::size_t kernels_in_batches(const CompiledProgram& program) {
  std::size_t count = 0;
  for (const Batch& batch : program.schedule().batches) count += batch.last - batch.first + 1;
  return count;
}

class Batches : public ::testing::Test {
 protected:
  const int threads_ = get_num_threads();
  void TearDown() override { set_num_threads(threads_); }
};

TEST_F(Batches, D7_BitsDoNotDependOnWhatRunsInOneLaunch) {
  std::size_t together = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const RandomGraph random = random_kernels(seed);
    const InputBytes inputs = make_inputs(random, seed);
    CompiledProgram apart = cpu_program(random.graph, {}, no_batches());
    CompiledProgram batched = cpu_program(random.graph, {}, all_in_batches());
    EXPECT_EQ(kernels_in_batches(apart), 0U);
    together += kernels_in_batches(batched);
    set_num_threads(1);
    const std::vector<Outcome> expected = run_graph(apart, random.graph, inputs);
    for (const int threads : {1, 2}) {
      set_num_threads(threads);
      ASSERT_EQ(run_graph(batched, random.graph, inputs), expected) << to_string(random.graph) << batched.text();
      ASSERT_EQ(run_graph(batched, random.graph, inputs, {.donate = true}), expected)
          << to_string(random.graph) << batched.text();
    }
  }
  EXPECT_GT(together, 500U);
}

TEST_F(Batches, E7_FailuresDoNotDependOnWhatRunsInOneLaunch) {
  std::size_t failed = 0, well = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const RandomGraph random = random_kernels(seed);
    const InputBytes inputs = make_inputs(random, seed);
    CompiledProgram apart = cpu_program(random.graph, {}, no_batches());
    CompiledProgram batched = cpu_program(random.graph, {}, all_in_batches());
    RunOptions options{.donate = seed % 2 == 0};
    for (std::size_t i = 0; i < inputs.size(); ++i) options.failed_inputs.push_back((seed + i) % 5 == 0);
    const std::vector<Outcome> expected = run_graph(apart, random.graph, inputs, options);
    ASSERT_EQ(run_graph(batched, random.graph, inputs, options), expected) << to_string(random.graph) << batched.text();
    for (const Outcome& outcome : expected) ++(outcome.failed() ? failed : well);
  }
  EXPECT_GT(failed, 100U);
  EXPECT_GT(well, 100U);
}

constexpr int kParameters = 20;

/// Parameters that a tenth of their gradients is subtracted from: inputs 2 i and 2 i + 1.
Graph updates() {
  std::string inputs, nodes, results;
  for (int i = 0; i < kParameters; ++i) {
    const std::string type = "float32(" + std::to_string(i + 1) + ",)";
    const std::string weight = "%in" + std::to_string(2 * i), gradient = "%in" + std::to_string(2 * i + 1);
    const std::string scaled = "%" + std::to_string(2 * i), result = "%" + std::to_string(2 * i + 1);
    inputs.append(i == 0 ? "" : ", ").append(weight).append(": ").append(type);
    inputs.append(", ").append(gradient).append(": ").append(type);
    nodes.append("  ").append(scaled).append(" = multiply(").append(gradient).append(", $0) : ").append(type);
    nodes.append("\n  ").append(result).append(" = subtract(").append(weight).append(", ").append(scaled);
    nodes.append(") : ").append(type).append("\n");
    results.append(i == 0 ? "" : ", ").append(result);
  }
  return parse_graph("graph(" + inputs + "; $0: float32 = 0.5) {\n" + nodes + "  return " + results + "\n}\n");
}

/// Weights 3, and gradients 4.
InputBytes update_inputs() {
  InputBytes inputs;
  for (int i = 0; i < 2 * kParameters; ++i) {
    const std::vector<float> values(static_cast<std::size_t>(i / 2 + 1), i % 2 == 0 ? 3.0F : 4.0F);
    inputs.emplace_back(values.size() * sizeof(float));
    std::memcpy(inputs.back().data(), values.data(), inputs.back().size());
  }
  return inputs;
}

std::string ones(int count) {
  const std::vector<float> values(static_cast<std::size_t>(count), 1.0F);
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

TEST_F(Batches, AreOneLaunch) {
  const Graph graph = updates();
  CompiledProgram program = cpu_program(graph);
  EXPECT_EQ(program.launch_count(), 1U) << program.text();
  const std::uint64_t before = counter_value("kernel.launch");
  run_graph(program, graph, update_inputs());
  EXPECT_EQ(counter_value("kernel.launch") - before, 1U);
}

TEST_F(Batches, UpdateInputsInPlace) {
  const Graph graph = updates();
  CompiledProgram program = cpu_program(graph);
  const std::uint64_t before = counter_value("donation");
  const std::vector<Outcome> outcomes = run_graph(program, graph, update_inputs(), {.donate = true});
  EXPECT_EQ(counter_value("donation") - before, std::uint64_t{kParameters});
  for (int i = 0; i < kParameters; ++i) EXPECT_EQ(outcomes[static_cast<std::size_t>(i)].bytes, ones(i + 1)) << i;
}

TEST_F(Batches, OverwriteNoInputThatAnotherOfTheirKernelsReads) {
  // Both read %in0 and could take its place; nothing says which of them is first.
  const Graph graph = parse_graph(R"(graph(%in0: float32(8,), %in1: float32(8,); $0: int64 = 0) {
  %0 = add(%in0, %in1) : float32(8,)
  %1 = strided_slice(%in0, $0, axes=[0], sizes=[4], steps=[2]) : float32(4,)
  %2 = exp(%1) : float32(4,)
  return %0, %2
}
)");
  CompiledProgram program = cpu_program(graph);
  ASSERT_EQ(kernels_in_batches(program), 2U) << program.text();
  const std::vector<std::uint8_t> all(graph.inputs.size(), 1);
  EXPECT_EQ(program.reused_bytes(all), 32U) << "of %in1 alone";
  const InputBytes inputs(2, std::vector<std::byte>(32, std::byte{0x3f}));
  EXPECT_EQ(run_graph(program, graph, inputs, {.donate = true}), run_graph(program, graph, inputs));
}

TEST_F(Batches, E7_AFailedInputPoisonsItsOwnKernelAlone) {
  const Graph graph = updates();
  CompiledProgram program = cpu_program(graph);
  RunOptions options{.donate = true, .failed_inputs = std::vector<std::uint8_t>(graph.inputs.size(), 0)};
  options.failed_inputs[2 * 7 + 1] = 1;
  const std::vector<Outcome> outcomes = run_graph(program, graph, update_inputs(), options);
  for (int i = 0; i < kParameters; ++i) {
    const Outcome& outcome = outcomes[static_cast<std::size_t>(i)];
    EXPECT_EQ(outcome.failed(), i == 7);
    EXPECT_EQ(outcome.bytes, i == 7 ? "" : ones(i + 1)) << i;
  }
}

TEST_F(Batches, E7_WithoutMemoryForSomeResultsTheOthersAreComputed) {
  const Graph graph = updates();
  InterpretingDriver driver;
  driver.limits = with_batches(driver.limits, 1e12, 1000);
  driver.most_allocations = 4;
  CompiledProgram program(graph, driver, driver.target(), {});
  ASSERT_EQ(program.launch_count(), 1U);
  const std::vector<Outcome> outcomes = run_graph(program, graph, update_inputs());
  for (int i = 0; i < kParameters; ++i) {
    const Outcome& outcome = outcomes[static_cast<std::size_t>(i)];
    EXPECT_EQ(outcome.failed(), i >= 4) << i;
    EXPECT_EQ(outcome.bytes, i < 4 ? ones(i + 1) : "") << i;
  }
}

TEST_F(Batches, ADeviceWithoutThemGetsTheirKernelsOneByOne) {
  const Graph graph = updates();
  InterpretingDriver driver;
  driver.limits = with_batches(driver.limits, 1e12, 1000);
  CompiledProgram program(graph, driver, driver.target(), {});
  const std::vector<Outcome> outcomes = run_graph(program, graph, update_inputs());
  EXPECT_EQ(driver.launches, std::size_t{kParameters});
  for (int i = 0; i < kParameters; ++i) EXPECT_EQ(outcomes[static_cast<std::size_t>(i)].bytes, ones(i + 1)) << i;
}

}  // namespace
}  // namespace lento::test

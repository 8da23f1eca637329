// The runtime with a device that is not the CPU: a driver that interprets kernels, has no calls of its own, and has
// other limits. Every device that gives as much gets the same results.
#include "cpu/interpreting_driver.h"

#include "backends/reference/interpreter.h"
#include "cpu/first_difference.h"
#include "cpu/graph_case.h"
#include "ir/random_inputs.h"
#include "ir/run_graph.h"
#include "runtime/compiled_program.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lento::test {
namespace {

std::vector<std::byte> bytes_of(const Outcome& outcome) {
  const auto* first = reinterpret_cast<const std::byte*>(outcome.bytes.data());
  return {first, first + outcome.bytes.size()};
}

TEST(Drivers, AnyOneThatGivesLittleComputesWhatTheReferenceDoes) {
  InterpretingDriver driver;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const GraphCase it = random_case(seed);
    const Graph& graph = it.random.graph;
    const InputBytes inputs = make_inputs(it.random, it.seed);
    const std::vector<std::uint8_t> has_promised_bits = promised(graph);
    reference::Interpreter reference(graph, 0);
    CompiledProgram program(graph, driver, driver.target(), {});
    const std::vector<Outcome> expected = run_graph(reference, graph, inputs);
    RunOptions options;
    options.donate = seed % 2 == 0;
    const std::vector<Outcome> actual = run_graph(program, graph, inputs, options);
    for (std::size_t k = 0; k < actual.size(); ++k) {
      const std::uint32_t node = graph.outputs[k];
      ASSERT_EQ(actual[k].failed(), expected[k].failed()) << to_text(it);
      if (has_promised_bits[node] == 0) continue;
      ASSERT_EQ(testing::first_difference(graph.nodes[node].dtype, bytes_of(expected[k]), bytes_of(actual[k])), -1)
          << "%" << node << " of\n"
          << to_text(it);
    }
  }
  EXPECT_GT(driver.launches, 300U);
  EXPECT_GT(driver.nodes, 300U);
}

TEST(Drivers, WhatFailsPoisonsNoMoreThanWhatDependsOnIt) {
  const Graph graph = parse_graph(R"(graph(%in0: float32(4,), %in1: int64(2,)) {
  %0 = take_axis(%in0, %in1, axis=0) : float32(2,)
  %1 = exp(%0) : float32(2,)
  %2 = negative(%in0) : float32(4,)
  return %1, %2
}
)");
  InterpretingDriver driver;
  CompiledProgram program(graph, driver, driver.target(), {});
  InputBytes inputs{std::vector<std::byte>(16), std::vector<std::byte>(16)};
  inputs[1][0] = std::byte{9};
  const std::vector<Outcome> outcomes = run_graph(program, graph, inputs);
  ASSERT_TRUE(outcomes[0].failed());
  EXPECT_EQ(outcomes[0].failure->kind, ErrorKind::index);
  EXPECT_FALSE(outcomes[1].failed());
}

}  // namespace
}  // namespace lento::test

// Random graphs over all primitives on the CPU device: the bits of a result depend on neither fusion, tier, threads nor
// memory, and they are the reference backend's wherever those are exact. The suite runs the same 5,000 every time;
// `make fuzz` looks further, as fuzz/random_graphs.h says.
#include "fuzz/random_graphs.h"
#include "cpu/graph_case.h"
#include "ir/op.h"
#include "ir/op_elementwise.gen.h"
#include "ir/op_reduction.gen.h"

#include <lento/threads.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <set>

namespace lento::test {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kGraphs = 800;  // slower, and a test has 600 seconds
#else
constexpr std::uint64_t kGraphs = 5'000;
#endif
constexpr std::uint64_t kParts = 8;  // tests, which run side by side

class RandomGraphs : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomGraphs, BitsDoNotDependOnHowTheyAreComputed) {
  fuzz::try_random_graphs(GetParam() * kGraphs / kParts, kGraphs / kParts, random_case, difference);
}

INSTANTIATE_TEST_SUITE_P(Part, RandomGraphs, ::testing::Range(std::uint64_t{0}, kParts));

/// The cases of the suite have every primitive in them, and most values can be compared with the reference backend.
TEST(GraphCases, HaveEveryPrimitive) {
  std::set<Op> seen;
  std::size_t nodes = 0;
  std::size_t rough = 0;
  for (std::uint64_t seed = 0; seed < kGraphs; ++seed) {
    const Graph graph = random_case(seed).random.graph;
    const std::vector<Agreement> agree = agreements(graph);
    for (const Record& record : graph.nodes) seen.insert(record.op);
    nodes += graph.nodes.size();
    rough += static_cast<std::size_t>(std::ranges::count(agree, Agreement::rough));
  }
  for (const Op op : all_primitives()) EXPECT_TRUE(seen.contains(op)) << info(op).name;
  EXPECT_LT(rough, nodes / 2);
}

TEST(GraphCases, TextIsReadBack) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const GraphCase graph = random_case(seed);
    const GraphCase again = parse_case(to_text(graph));
    EXPECT_EQ(to_text(again), to_text(graph));
    EXPECT_EQ(again.seed, seed);
  }
  EXPECT_THROW(parse_case("graph() {\n}\n"), std::invalid_argument);
}

/// A planted fault: whatever reads the exponential of a sum.
TEST(GraphCases, AreReducedToWhatFails) {
  const auto fails = [](const GraphCase& c) {
    const Graph& graph = c.random.graph;
    return std::ranges::any_of(graph.nodes, [&](const Record& record) {
      if (record.op != op::exp) return false;
      const OperandRef operand = graph.operands(record)[0];
      return operand.kind() == OperandRef::Kind::record && graph.nodes[operand.index()].op == op::add;
    });
  };
  std::size_t reduced = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    RandomGraphBuilder builder(seed);
    for (int i = 0; i < 12; ++i) builder.add(i % 4 == 0 ? op::add : i % 4 == 1 ? op::exp : op::reduce_max);
    GraphCase graph{builder.finish(), seed};
    graph.random.graph.outputs.clear();
    for (std::uint32_t i = 0; i < graph.random.graph.nodes.size(); ++i) graph.random.graph.outputs.push_back(i);
    if (!fails(graph)) continue;
    const GraphCase least = reduce(graph, fails);
    verify(least.random.graph);
    EXPECT_TRUE(fails(least));
    EXPECT_EQ(least.random.graph.nodes.size(), 2U) << to_text(least);
    ++reduced;
  }
  EXPECT_GT(reduced, 0U);
}

}  // namespace
}  // namespace lento::test

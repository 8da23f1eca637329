// Random graphs of every primitive on the reference backend. Two runs of a graph must agree to the bit however its
// memory is used: with inputs that may be overwritten and values released early, and with every value kept.
#include "ir/random_graph.h"
#include "fuzz/watch.h"
#include "ir/random_inputs.h"
#include "ir/run_graph.h"

#include "backend/backend.h"
#include "ir/op.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lento::test {
namespace {

std::vector<Outcome> run(const Graph& graph, const InputBytes& inputs, bool donate) {
  RunOptions options;
  options.donate = donate;
  return run_graph(*backend_of(0).own_program(graph, 0), graph, inputs, options);
}

void expect_same_bits(const RandomGraph& random, std::uint64_t seed) {
  const InputBytes inputs = make_inputs(random, seed);
  Graph all = random.graph;
  all.outputs.clear();
  for (std::uint32_t i = 0; i < all.nodes.size(); ++i) all.outputs.push_back(i);
  const std::vector<Outcome> every = run(all, inputs, false);
  const std::vector<Outcome> some = run(random.graph, inputs, true);
  for (std::size_t k = 0; k < some.size(); ++k) {
    ASSERT_EQ(some[k].text(), every[random.graph.outputs[k]].text())
        << "%" << random.graph.outputs[k] << " of seed " << seed << "\n"
        << to_string(random.graph);
  }
  ASSERT_TRUE(run(parse_graph(to_string(random.graph)), inputs, true) == some) << to_string(random.graph);
}

TEST(RandomGraphs, EveryPrimitiveRuns) {
  for (const Op op : all_primitives()) {
    std::size_t good = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      RandomGraphBuilder builder(seed);
      ASSERT_TRUE(builder.add(op));
      const RandomGraph random = builder.finish();
      expect_same_bits(random, seed);
      if (HasFatalFailure()) return;
      good += std::ranges::none_of(run(random.graph, make_inputs(random, seed), false), &Outcome::failed) ? 1 : 0;
    }
    EXPECT_GT(good, 0U) << info(op).name << " never gave a value";
  }
}

TEST(RandomGraphs, ValuesDoNotDependOnHowMemoryIsUsed) {
  for (std::uint64_t seed = 0; seed < fuzz::from_environment("LENTO_FUZZ_SEEDS", 200); ++seed) {
    expect_same_bits(random_graph(seed, 40), seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace lento::test

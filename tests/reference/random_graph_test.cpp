// Random graphs of every primitive on the reference backend. Two runs of a graph must agree to the bit however its
// memory is used: with inputs that may be overwritten and values released early, and with every value kept.
#include "ir/random_graph.h"
#include "ir/random_inputs.h"

#include "backend/backend.h"
#include "base/dispatch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

namespace lento::test {
namespace {

/// The bytes of each output, or the message of its failure.
std::vector<std::string> run(const Graph& graph, const std::vector<std::vector<std::byte>>& inputs, bool donate) {
  Backend& backend = backend_of(0);
  std::vector<ValueRef> values;
  for (const auto& bytes : inputs) {
    BufferRef buffer = backend.allocate(bytes.size(), 0);
    backend.copy_from_host(*buffer, bytes.data(), bytes.size());
    values.push_back(Value::ready(std::move(buffer)));
  }
  const std::vector<std::uint8_t> donated(inputs.size(), donate ? 1 : 0);
  std::vector<ValueRef> outcomes;
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) outcomes.push_back(Value::ready({}));
  backend.compile(graph, 0)->run({values, donated, graph.scalars, outcomes, graph.sources});
  std::vector<std::string> results;
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    const Value& outcome = *outcomes[k];
    if (outcome.failure) {
      results.push_back("failed: " + outcome.failure->message);
      continue;
    }
    const Meta meta = graph.meta_of(OperandRef::record(graph.outputs[k]));
    EXPECT_EQ(outcome.buffer->size(), static_cast<std::size_t>(element_count(meta.shape)) * size_of(meta.dtype));
    results.emplace_back(static_cast<const char*>(outcome.buffer->data()), outcome.buffer->size());
  }
  if (!donate) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto* now = static_cast<const std::byte*>(values[i]->buffer->data());
      EXPECT_TRUE(std::equal(inputs[i].begin(), inputs[i].end(), now)) << "input " << i << " was written";
    }
  }
  return results;
}

void expect_same_bits(const RandomGraph& random, std::uint64_t seed) {
  const std::vector<std::vector<std::byte>> inputs = make_inputs(random, seed);
  Graph all = random.graph;
  all.outputs.clear();
  for (std::uint32_t i = 0; i < all.nodes.size(); ++i) all.outputs.push_back(i);
  const std::vector<std::string> every = run(all, inputs, false);
  const std::vector<std::string> some = run(random.graph, inputs, true);
  for (std::size_t k = 0; k < some.size(); ++k) {
    ASSERT_EQ(some[k], every[random.graph.outputs[k]]) << "%" << random.graph.outputs[k] << " of seed " << seed << "\n"
                                                       << to_string(random.graph);
  }
  ASSERT_EQ(run(parse_graph(to_string(random.graph)), inputs, true), some) << to_string(random.graph);
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
      const std::vector<std::string> results = run(random.graph, make_inputs(random, seed), false);
      good += std::ranges::none_of(results, [](const std::string& text) { return text.starts_with("failed: "); });
    }
    EXPECT_GT(good, 0U) << info(op).name << " never gave a value";
  }
}

/// LENTO_FUZZ_SEEDS=100000 looks longer.
std::uint64_t seed_count() {
  const char* given = std::getenv("LENTO_FUZZ_SEEDS");
  return given == nullptr ? 200 : std::strtoull(given, nullptr, 10);
}

TEST(RandomGraphs, ValuesDoNotDependOnHowMemoryIsUsed) {
  for (std::uint64_t seed = 0; seed < seed_count(); ++seed) {
    expect_same_bits(random_graph(seed, 40), seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace lento::test

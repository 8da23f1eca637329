// A checksum over the results of random graphs: what must stay the same when the compiler or the runtime is rewritten.
// LENTO_TEST_BITS=5000 says how many graphs (`make bits`); the number is printed, to be compared with that of another
// build on the same machine.
#include "cpu/cpu_program.h"
#include "cpu/graph_case.h"
#include "ir/random_inputs.h"
#include "ir/run_graph.h"

#include <lento/threads.h>

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace lento::test {
namespace {

std::uint64_t checksum(std::uint64_t graphs, int threads) {
  std::uint64_t sum = 0;
  const auto add = [&sum](const void* data, std::size_t bytes) { sum = XXH3_64bits_withSeed(data, bytes, sum); };
  set_num_threads(threads);
  for (std::uint64_t seed = 0; seed < graphs; ++seed) {
    const GraphCase it = random_case(seed);
    const Graph& graph = it.random.graph;
    CompiledProgram program = cpu_program(graph);
    const std::vector<Outcome> outcomes = run_graph(program, graph, make_inputs(it.random, it.seed));
    const std::vector<std::uint8_t> has_promised_bits = promised(graph);
    for (std::size_t k = 0; k < outcomes.size(); ++k) {
      const bool failed = outcomes[k].failed();
      add(&failed, 1);
      if (has_promised_bits[graph.outputs[k]] != 0) add(outcomes[k].bytes.data(), outcomes[k].bytes.size());
    }
  }
  return sum;
}

TEST(GraphBits, AreTheSameInEveryRun) {
  const char* const wanted = std::getenv("LENTO_TEST_BITS");
  const std::uint64_t graphs = wanted == nullptr ? 50 : std::strtoull(wanted, nullptr, 10);
  ASSERT_GT(graphs, 0U) << "LENTO_TEST_BITS is a number of graphs";
  const std::uint64_t first = checksum(graphs, 1);
  EXPECT_EQ(checksum(graphs, 2), first);
  std::printf("%llu graphs: %016llx\n", static_cast<unsigned long long>(graphs),
              static_cast<unsigned long long>(first));
}

}  // namespace
}  // namespace lento::test

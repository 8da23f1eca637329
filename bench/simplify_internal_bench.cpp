// What simplification costs a node, when there is nothing to simplify and when there is much.
#include "compiler/passes/simplify.h"
#include "ir/attrs_index_map.gen.h"
#include "ir/op_elementwise.gen.h"
#include "ir/op_index_map.gen.h"

#include <benchmark/benchmark.h>

namespace lento {
namespace {

constexpr std::uint32_t kNodes = 10'000;

OperandRef add(Graph& graph, Op op, OperandRef a, OperandRef b, AttrsId attrs, std::uint8_t operands) {
  Record record{.op = op, .dtype = DType::float32};
  record.operand_count = operands;
  record.shape = intern_shape(Shape{64, 64});
  record.attrs = attrs;
  record.operands[0] = a;
  if (operands == 2) record.operands[1] = b;
  graph.nodes.push_back(record);
  graph.sources.emplace_back();
  return OperandRef::record(static_cast<std::uint32_t>(graph.nodes.size() - 1));
}

/// A chain of sums; with `redundant`, half of it are transposes that undo each other and sums that are there already.
Graph chain(bool redundant) {
  Graph graph;
  graph.inputs.push_back({DType::float32, intern_shape(Shape{64, 64})});
  const AttrsId transpose = intern(PermuteDimsAttrs{{1, 0}});
  OperandRef x = OperandRef::leaf(0);
  while (graph.nodes.size() < kNodes) {
    const OperandRef before = x;
    x = add(graph, op::add, before, OperandRef::leaf(0), {}, 2);
    if (!redundant) continue;
    x = add(graph, op::permute_dims, add(graph, op::permute_dims, x, {}, transpose, 1), {}, transpose, 1);
    x = add(graph, op::multiply, x, add(graph, op::add, before, OperandRef::leaf(0), {}, 2), {}, 2);
  }
  graph.outputs.push_back(static_cast<std::uint32_t>(graph.nodes.size() - 1));
  return graph;
}

void simplification(benchmark::State& state) {
  const Graph graph = chain(state.range(0) != 0);
  std::size_t left = 0;
  for (auto _ : state) {
    Graph copy = graph;
    benchmark::DoNotOptimize(simplify(copy));
    left = copy.nodes.size();
  }
  state.counters["ns_per_node"] =
      benchmark::Counter(static_cast<double>(graph.nodes.size()) * 1e-9,
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["nodes_left"] = static_cast<double>(left);
}
BENCHMARK(simplification)->ArgName("redundant")->Arg(0)->Arg(1);

}  // namespace
}  // namespace lento

BENCHMARK_MAIN();

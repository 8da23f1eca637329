#include "executor/plan.h"

#include <xxhash.h>

#include <algorithm>

namespace lento {

std::uint64_t structure_hash([[maybe_unused]] const Graph& graph, [[maybe_unused]] std::uint8_t device) {
#if defined(LENTO_CONSTANT_HASH)
  return 1;  // 0 is the key of nothing
#else
  std::uint64_t hash = device;
  const auto mix = [&hash](const void* data, std::size_t bytes) { hash = XXH3_64bits_withSeed(data, bytes, hash); };
  mix(graph.nodes.data(), graph.nodes.size() * sizeof(Record));
  mix(graph.operand_lists.data(), graph.operand_lists.size() * sizeof(OperandRef));
  mix(graph.outputs.data(), graph.outputs.size() * sizeof(std::uint32_t));
  for (const GraphInput& input : graph.inputs) {
    const std::uint32_t words[] = {static_cast<std::uint32_t>(input.dtype), static_cast<std::uint32_t>(input.shape)};
    mix(words, sizeof(words));
  }
  for (const ScalarArgument& scalar : graph.scalars) mix(&scalar.dtype, sizeof(scalar.dtype));
  return hash;
#endif
}

bool same_structure(const Graph& a, const Graph& b) {
  return same_bytes<Record>(a.nodes, b.nodes) && same_bytes<OperandRef>(a.operand_lists, b.operand_lists) &&
         a.outputs == b.outputs && a.inputs == b.inputs &&
         std::equal(a.scalars.begin(), a.scalars.end(), b.scalars.begin(), b.scalars.end(),
                    [](const ScalarArgument& x, const ScalarArgument& y) { return x.dtype == y.dtype; });
}

std::size_t graph_bytes(const Graph& graph) {
  return graph.nodes.size() * (sizeof(Record) + sizeof(Source)) + graph.inputs.size() * sizeof(GraphInput) +
         graph.scalars.size() * sizeof(ScalarArgument) + graph.operand_lists.size() * sizeof(OperandRef) +
         graph.outputs.size() * sizeof(std::uint32_t);
}

}  // namespace lento

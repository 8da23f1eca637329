#include "compiler/passes/dead_code.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lento {

namespace {

/// One flag per node: an output needs it. A result needs its op.
std::vector<std::uint8_t> needed_nodes(const Graph& graph) {
  std::vector<std::uint8_t> needed(graph.nodes.size(), 0);
  for (const std::uint32_t output : graph.outputs) needed[output] = 1;
  for (std::size_t node = graph.nodes.size(); node-- > 0;) {
    if (needed[node] == 0) continue;
    for (const OperandRef operand : graph.operands(graph.nodes[node])) {
      if (operand.kind() == OperandRef::Kind::record) needed[operand.index()] = 1;
    }
  }
  return needed;
}

}  // namespace

std::size_t drop_dead_code(Graph& graph) {
  const std::vector<std::uint8_t> needed = needed_nodes(graph);
  const auto dead = static_cast<std::size_t>(std::ranges::count(needed, 0));
  if (dead == 0) return 0;
  std::vector<std::uint32_t> place(graph.nodes.size(), 0);
  if (graph.origins.empty()) {
    graph.origins.resize(graph.nodes.size());
    for (std::uint32_t node = 0; node < graph.nodes.size(); ++node) graph.origins[node] = node;
  }
  std::vector<OperandRef> lists;
  lists.reserve(graph.operand_lists.size());
  std::uint32_t kept = 0;
  const auto moved = [&](OperandRef operand) {
    return operand.kind() == OperandRef::Kind::record ? OperandRef::record(place[operand.index()]) : operand;
  };
  for (std::uint32_t node = 0; node < graph.nodes.size(); ++node) {
    if (needed[node] == 0) continue;
    Record record = graph.nodes[node];
    if (record.operand_count == Record::kOperandList) {
      const auto offset = static_cast<std::uint32_t>(lists.size());
      for (const OperandRef operand : graph.operands(record)) lists.push_back(moved(operand));
      record.operands[0].bits = offset;
    } else {
      for (std::size_t i = 0; i < record.operand_count; ++i) record.operands[i] = moved(record.operands[i]);
    }
    place[node] = kept;
    graph.nodes[kept] = record;
    graph.sources[kept] = graph.sources[node];
    graph.origins[kept] = graph.origins[node];
    ++kept;
  }
  graph.nodes.resize(kept);
  graph.sources.resize(kept);
  graph.origins.resize(kept);
  graph.operand_lists = std::move(lists);
  for (std::uint32_t& output : graph.outputs) output = place[output];
  return dead;
}

}  // namespace lento

// Whether a group has a kernel is known when the last node of the graph has its place, not before: each node that joins
// brings loads and stores of its own, and the reduced axes must be one dimension for all of them, must move for what is
// reduced, and must not move what picks rows. Asking at every node that joins would make each compile pay for what few
// graphs have. What a node tells alone is asked before (compiler/node_roles.h): its dtypes, its axes, whether these
// hold more than one element. For the rest fusion is tried again, under conditions that were learnt from the groups
// without kernels. Each attempt that fails sets nodes apart that were not apart before, so there is a last one.
#include "compiler/fuse_into_kernels.h"

#include "ir/op.h"

namespace lento {

namespace {

/// Lets calls copy the picked rows that a group reads; false when it reads none.
bool copy_picked(const Graph& graph, const Fusion& fusion, const Group& group, std::vector<std::uint8_t>& calls) {
  bool any = false;
  const auto copy = [&](OperandRef operand) {
    if (operand.kind() != OperandRef::Kind::record || !fusion.views[operand.index()]) return;
    if (!fusion.views[operand.index()]->picked) return;
    calls[operand.index()] = 1;
    any = true;
  };
  for (const std::uint32_t node : group.nodes) {
    copy(OperandRef::record(node));
    for (const OperandRef operand : graph.operands(graph.nodes[node])) copy(operand);
  }
  return any;
}

/// Lets the reductions of a group read their operands from memory, contiguous; false when they do so already.
bool set_reductions_apart(const Graph& graph, const Group& group, std::vector<std::uint8_t>& apart) {
  bool any = false;
  for (const std::uint32_t node : group.nodes) {
    if (info(graph.nodes[node].op).family != Family::reduction || apart[node] != 0) continue;
    apart[node] = 1;
    any = true;
  }
  return any;
}

/// Sets nodes of a group that has no kernel apart, under the first of these conditions that is new to the group: the
/// rows that it picks are copied by calls; its reductions read their operands where they are stored; its reductions, or
/// all its nodes if it has none, are calls.
void learn(const Graph& graph, const Fusion& fusion, const Group& group, SetApart& apart) {
  if (copy_picked(graph, fusion, group, apart.calls)) return;
  if (set_reductions_apart(graph, group, apart.reductions)) return;
  for (const std::uint32_t node : group.nodes) {
    if (group.reduced.count == 0 || info(graph.nodes[node].op).family == Family::reduction) apart.calls[node] = 1;
  }
}

}  // namespace

FusedKernels fuse_into_kernels(const Graph& graph, const Target& target, const CompileOptions& options) {
  SetApart apart(graph);
  while (true) {
    FusedKernels found{fuse(graph, target, options, apart), {}};
    bool all = true;
    for (const Group& group : found.fusion.groups) {
      found.kernels.emplace_back();
      if (group.nodes.empty()) continue;
      found.kernels.back() = build_kernel(graph, target, found.fusion, group);
      if (found.kernels.back()) continue;
      learn(graph, found.fusion, group, apart);
      all = false;
    }
    if (all) return found;
  }
}

}  // namespace lento

// Roles: what each node of a graph is for the compiler, found before nodes are grouped. Groups decide nothing here, and
// what is decided here holds for any groups: which nodes are views, numbers or calls, which could go into a kernel, and
// which views must be copied into memory of their own because somebody reads them there.
#pragma once

#include "compiler/compile_options.h"
#include "compiler/target.h"
#include "compiler/view.h"
#include "ir/graph.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace lento {

enum class NodeRole : std::uint8_t {
  view,     // an index map of something that is stored, or of an iota, which is one of itself
  number,   // full: the same number everywhere
  element,  // computed in a group, one value for each point of its shape
  row,      // computed in a group, one value for each row: a reduction, or what is computed from such
  call,     // a step of its own
  result,   // a further result of a call
};

/// The axes a group reduces over: a run of neighbours.
struct ReducedAxes {
  std::size_t first = 0;
  std::size_t count = 0;  // 0: it reduces nothing

  friend bool operator==(const ReducedAxes&, const ReducedAxes&) = default;
};

/// True for the value of a node, which has a role; others are inputs of the graph and numbers.
inline bool is_node(OperandRef operand) { return operand.kind() == OperandRef::Kind::record; }

/// A view or a number that is copied into memory of its own.
struct Copy {
  std::uint32_t node;
  std::uint32_t reader;  // the first node that needs it there; as many as there are nodes: an output
};

struct Roles {
  std::vector<NodeRole> roles;             // one per node; of what is elementwise `element`, until it joins a group
  std::vector<std::uint8_t> stored;        // one per node: its value is needed in memory; groups add to these
  std::vector<std::optional<View>> views;  // of nodes with the role view
  std::vector<ReducedAxes> reduced;        // one per node; of nodes that reduce in a kernel
  std::vector<std::uint8_t> apart;         // one per node: its operand, also a view, is read where it is stored
  // One per node: the stored value that has the same elements in the same order, and so the same memory. That is the
  // node itself, unless it only reshapes something that is stored.
  std::vector<OperandRef> same_as;
  std::vector<Copy> copies;  // by reader, and of one reader in the order in which they are made

  /// Of a node.
  NodeRole role(OperandRef operand) const { return roles[operand.index()]; }
  OperandRef home(OperandRef operand) const {
    return operand.kind() == OperandRef::Kind::record ? same_as[operand.index()] : operand;
  }
};

/// What earlier attempts at a schedule found to have no kernel as it was. One flag per node each.
struct SetApart {
  std::vector<std::uint8_t> calls;       // these must be calls
  std::vector<std::uint8_t> reductions;  // these read their operand from memory, contiguous

  explicit SetApart(const Graph& graph) : calls(graph.nodes.size()), reductions(graph.nodes.size()) {}
};

Roles assign_roles(const Graph& graph, const Target& target, const CompileOptions& options, const SetApart& apart);

}  // namespace lento

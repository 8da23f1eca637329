// Fusion: which nodes of a graph run together in one kernel, which run alone, and which never run because they are
// views.
//
// Every group has a level: the number of steps that must have run before it on the longest way. A node joins a group
// that makes one of its operands when everything else it reads is there at that level; groups of one level cannot
// depend on each other, so two that compute over the same shape may be merged when a node reads both.
#pragma once

#include "compiler/compile_options.h"
#include "compiler/target.h"
#include "compiler/view.h"
#include "ir/graph.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace lento {

enum class NodeRole : std::uint8_t {
  view,     // an index map of something that is stored
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

struct Group {
  Shape shape;      // of the iteration space
  Shape row_shape;  // the same with 1 for each reduced axis
  ReducedAxes reduced;
  std::uint32_t level = 0;
  std::vector<std::uint32_t> nodes;  // ascending
};

struct Fusion {
  static constexpr std::uint32_t kNoGroup = ~0U;

  std::vector<NodeRole> roles;             // one per node
  std::vector<std::uint32_t> group_of;     // one per node; kNoGroup for views, numbers, calls
  std::vector<Group> groups;               // those that were merged into others are empty
  std::vector<std::uint8_t> stored;        // one per node: its value is needed in memory
  std::vector<std::optional<View>> views;  // of nodes with the role view
  std::vector<std::uint8_t> apart;         // one per node: its operand, also a view, is read where it is stored
  // One per node: the stored value that has the same elements in the same order, and so the same memory. That is the
  // node itself, unless it only reshapes something that is stored.
  std::vector<OperandRef> same_as;

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

/// Without CompileOptions::fusion every node is alone.
Fusion fuse(const Graph& graph, const Target& target, const CompileOptions& options, const SetApart& apart);

}  // namespace lento

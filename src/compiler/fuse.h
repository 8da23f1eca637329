// Fusion: which nodes of a graph run together in one kernel. Their roles (compiler/node_roles.h) are known before.
//
// Every group has a level: the number of steps that must have run before it on the longest way. A node joins a group
// that makes one of its operands when everything else it reads is there at that level; groups of one level cannot
// depend on each other, so two that compute over the same shape may be merged when a node reads both.
#pragma once

#include "compiler/compile_options.h"
#include "compiler/node_roles.h"
#include "compiler/target.h"
#include "ir/graph.h"

#include <cstdint>
#include <vector>

namespace lento {

struct Group {
  Shape shape;      // of the iteration space
  Shape row_shape;  // the same with 1 for each reduced axis
  ReducedAxes reduced;
  std::uint32_t level = 0;
  std::vector<std::uint32_t> nodes;  // ascending
};

/// Roles as they are in groups, and the groups.
struct Fusion : Roles {
  static constexpr std::uint32_t kNoGroup = ~0U;

  std::vector<std::uint32_t> group_of;  // one per node; kNoGroup for calls and what never runs
  std::vector<Group> groups;            // those that were merged into others are empty
};

/// Without CompileOptions::fusion every node is alone.
Fusion fuse(const Graph& graph, const Target& target, const CompileOptions& options, const SetApart& apart);

}  // namespace lento

// Simplification: the passes over a graph before it is scheduled. One walk over the nodes rewrites by rules (rules.h)
// and merges what is computed twice (equal_nodes.h), each seeing what the other made of the nodes before; a second one
// leaves out what nobody needs any more (dead_code.h). Both are linear in the graph and not recursive.
//
// Arguments keep their places: inputs, numbers, and outputs in their order, each a node of its own. Graph::origins says
// which node of the trace each node stands for: a failure of an op that was merged names the first line that has it.
#pragma once

#include "ir/graph.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lento {

/// What simplification did.
struct Simplified {
  std::vector<std::uint32_t> fired;  // one per rule, in the order of all_rules()
  std::size_t merged = 0;            // nodes that equal one before them
  std::size_t dropped = 0;           // nodes that nobody needs
};

/// The same outputs, bit by bit, from fewer nodes.
Simplified simplify(Graph& graph);

/// One line a rule that fired and one for the rest; empty when nothing happened.
std::string to_string(const Simplified& simplified);

}  // namespace lento

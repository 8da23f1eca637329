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
#include <string_view>
#include <vector>

namespace lento {

/// What simplification did.
struct Simplified {
  std::vector<std::uint32_t> fired;  // one per rule, in the order of all_rules()
  std::size_t merged = 0;            // nodes that equal one before them
  std::size_t dropped = 0;           // nodes that nobody needs
};

struct Rule;

/// Sees what simplify() does, for people and tests; changes nothing. Nodes are those of the trace (Graph::origin).
class SimplifyObserver {
 public:
  virtual ~SimplifyObserver() = default;
  /// A rule has rewritten a node.
  virtual void on_rule(const Rule& rule, std::uint32_t node) = 0;
  /// A node has gone, because one before it computes the same.
  virtual void on_merge(std::uint32_t node, std::uint32_t equal) = 0;
  /// A pass has ended and left this graph: "rules", then "dead-code".
  virtual void on_pass(std::string_view pass, const Graph& graph) = 0;
};

/// The same outputs, bit by bit, from fewer nodes.
Simplified simplify(Graph& graph, SimplifyObserver* observer = nullptr);

/// One line a rule that fired and one for the rest; empty when nothing happened.
std::string to_string(const Simplified& simplified);

}  // namespace lento

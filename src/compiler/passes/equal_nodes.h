// Common subexpressions: finds the first node of a graph in the making that computes the same as another: the same op,
// attributes, dtype, shape and operands. Numbers are equal only when they are the same argument of the plan, never by
// value; random bits have their keys as operands and are equal when those are.
#pragma once

#include "ir/graph.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lento {

class EqualNodes {
 public:
  /// Room for so many nodes.
  explicit EqualNodes(std::size_t nodes);

  /// The first node that equals this one; itself when there is none, and then later ones are compared with it.
  std::uint32_t find_or_add(const Graph& graph, std::uint32_t node);

 private:
  static constexpr std::uint32_t kFree = ~0U;

  void grow(const Graph& graph);
  std::size_t slot_of(const Graph& graph, const Record& record) const;

  std::vector<std::uint32_t> slots_;  // open addressing, a power of two
  std::size_t used_ = 0;
};

}  // namespace lento

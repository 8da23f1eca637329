// GraphMaker: graphs node by node, with inferred types. For tests that build what they look at.
#pragma once

#include "ir/graph.h"

#include <cstdint>
#include <initializer_list>
#include <span>

namespace lento::test {

struct GraphMaker {
  Graph graph;

  OperandRef input(DType dtype, const Shape& shape);
  OperandRef number(const Scalar& value, DType dtype);
  /// A node of this op, with the type that inference gives it. Throws what inference throws.
  OperandRef node(Op op, std::span<const OperandRef> operands, AttrsId attrs = {}, const Source& source = {});
  OperandRef node(Op op, std::initializer_list<OperandRef> operands, AttrsId attrs = {}) {
    return node(op, std::span(operands.begin(), operands.size()), attrs);
  }
  /// A further result of a node, which must be the last op that was added.
  OperandRef result(OperandRef producer, std::uint32_t index);
  void output(OperandRef node) { graph.outputs.push_back(node.index()); }
  Meta meta(OperandRef operand) const { return graph.meta_of(operand); }

 private:
  std::vector<Meta> results_;  // all that the last op has
};

}  // namespace lento::test

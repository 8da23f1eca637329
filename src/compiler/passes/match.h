// Match: a node of the graph in the making, as rules (rules.h) see it, and what they can do with it. A node arrives
// with its operands already replaced; a rule looks at who makes them and says what the node is instead.
#pragma once

#include "compiler/passes/equal_nodes.h"
#include "ir/graph.h"
#include "ir/op_number.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

namespace lento {

class Match {
 public:
  /// `uses` has one entry per node of `graph`: how many operands and outputs read it, or more.
  Match(Graph& graph, std::vector<std::uint32_t>& uses, EqualNodes& equals)
      : graph_(graph), uses_(uses), equals_(equals) {}

  // --- the node ---

  Op op() const { return record_.op; }
  DType dtype() const { return record_.dtype; }
  ShapeId shape_id() const { return record_.shape; }
  const Shape& shape() const { return shape_of(record_.shape); }
  AttrsId attrs() const { return record_.attrs; }
  std::span<const OperandRef> operands() const { return operands_; }
  OperandRef operand(std::size_t i = 0) const { return operands_[i]; }

  // --- what it reads ---

  DType dtype_of(OperandRef value) const;
  ShapeId shape_id_of(OperandRef value) const;
  /// The node that makes a value when it is of this op, or null.
  const Record* made_by(OperandRef value, Op op) const {
    const Record* maker = maker_of(value);
    return maker != nullptr && maker->op == op ? maker : nullptr;
  }
  /// The node that makes a value, or null for inputs and numbers.
  const Record* maker_of(OperandRef value) const {
    return value.kind() == OperandRef::Kind::record ? &graph_.nodes[value.index()] : nullptr;
  }
  OperandRef first_operand(const Record& record) const { return graph_.operands(record)[0]; }
  std::span<const OperandRef> operands_of(const Record& record) const { return graph_.operands(record); }
  /// Nobody but this node reads the value.
  bool only_reader_of(OperandRef value) const {
    return value.kind() == OperandRef::Kind::record && uses_[value.index()] == 1;
  }

  // --- what it is instead; all return true, for rules to return ---

  /// The node's value is this one, which has the same dtype and shape.
  bool replace_with(OperandRef value);
  /// The node is this op of these operands, with the same dtype and shape.
  bool replace_with(Op op, AttrsId attrs, std::initializer_list<OperandRef> operands);
  /// The same op, reading another value.
  bool set_operand(std::size_t operand, OperandRef value);
  /// The node of another value again, with other attributes, another shape and another tensor operand; its numbers and
  /// the line it is from stay. For chains of values that nobody else reads.
  OperandRef copy_of(OperandRef node, AttrsId attrs, ShapeId shape, OperandRef tensor);

 private:
  friend class Simplifier;

  Graph& graph_;
  std::vector<std::uint32_t>& uses_;
  EqualNodes& equals_;
  Record record_{};
  std::vector<OperandRef> operands_;
  std::optional<OperandRef> value_;  // set when the node is another value
};

/// Sets a record's operand fields; more than three go to the graph's list.
void set_operands(Graph& graph, Record& record, std::span<const OperandRef> operands);

}  // namespace lento

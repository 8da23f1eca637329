#include "compiler/passes/match.h"

#include <algorithm>

namespace lento {

void set_operands(Graph& graph, Record& record, std::span<const OperandRef> operands) {
  std::ranges::fill(record.operands, OperandRef{});
  if (operands.size() <= Record::kInlineOperands) {
    record.operand_count = static_cast<std::uint8_t>(operands.size());
    std::ranges::copy(operands, record.operands);
    return;
  }
  record.operand_count = Record::kOperandList;
  record.operands[0].bits = static_cast<std::uint32_t>(graph.operand_lists.size());
  record.operands[1].bits = static_cast<std::uint32_t>(operands.size());
  graph.operand_lists.insert(graph.operand_lists.end(), operands.begin(), operands.end());
}

DType Match::dtype_of(OperandRef value) const {
  switch (value.kind()) {
    case OperandRef::Kind::record:
      return graph_.nodes[value.index()].dtype;
    case OperandRef::Kind::leaf:
      return graph_.inputs[value.index()].dtype;
    case OperandRef::Kind::scalar:
      break;
  }
  return graph_.scalars[value.index()].dtype;
}

ShapeId Match::shape_id_of(OperandRef value) const {
  switch (value.kind()) {
    case OperandRef::Kind::record:
      return graph_.nodes[value.index()].shape;
    case OperandRef::Kind::leaf:
      return graph_.inputs[value.index()].shape;
    case OperandRef::Kind::scalar:
      break;
  }
  return ShapeId{};
}

bool Match::replace_with(OperandRef value) {
  value_ = value;
  return true;
}

bool Match::replace_with(Op op, AttrsId attrs, std::initializer_list<OperandRef> operands) {
  record_.op = op;
  record_.attrs = attrs;
  operands_.assign(operands);
  return true;
}

bool Match::set_operand(std::size_t operand, OperandRef value) {
  operands_[operand] = value;
  if (value.kind() == OperandRef::Kind::record) ++uses_[value.index()];
  return true;
}

OperandRef Match::copy_of(OperandRef node, AttrsId attrs, ShapeId shape, OperandRef tensor) {
  Record record = graph_.nodes[node.index()];
  const std::span<const OperandRef> old = graph_.operands(record);
  std::vector<OperandRef> operands(old.begin(), old.end());
  // A number may stand first: 1 / x.
  *std::ranges::find_if(operands, [](OperandRef o) { return o.kind() != OperandRef::Kind::scalar; }) = tensor;
  record.attrs = attrs;
  record.shape = shape;
  set_operands(graph_, record, operands);
  const auto index = static_cast<std::uint32_t>(graph_.nodes.size());
  graph_.nodes.push_back(record);
  const std::uint32_t first = equals_.find_or_add(graph_, index);
  if (first != index) {
    graph_.nodes.pop_back();
    ++uses_[first];
    return OperandRef::record(first);
  }
  graph_.sources.push_back(graph_.sources[node.index()]);
  graph_.origins.push_back(graph_.origins[node.index()]);
  uses_.push_back(1);
  return OperandRef::record(index);
}

}  // namespace lento

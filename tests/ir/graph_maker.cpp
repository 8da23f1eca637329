#include "ir/graph_maker.h"

#include "ir/infer.h"
#include "ir/infer_elementwise.h"
#include "ir/op.h"
#include "ir/op_number.h"

#include <algorithm>

namespace lento::test {

OperandRef GraphMaker::input(DType dtype, const Shape& shape) {
  graph.inputs.push_back({dtype, intern_shape(shape)});
  return OperandRef::leaf(static_cast<std::uint32_t>(graph.inputs.size() - 1));
}

OperandRef GraphMaker::number(const Scalar& value, DType dtype) {
  graph.scalars.push_back({value, dtype});
  return OperandRef::scalar(static_cast<std::uint32_t>(graph.scalars.size() - 1));
}

OperandRef GraphMaker::node(Op op, std::span<const OperandRef> operands, AttrsId attrs, const Source& source) {
  const OpInfo& op_info = info(op);
  std::vector<Meta> metas;
  for (const OperandRef operand : operands) {
    if (op_info.rule != nullptr || operand.kind() != OperandRef::Kind::scalar) metas.push_back(meta(operand));
  }
  results_.assign(op_info.result_count, {});
  if (op_info.rule != nullptr) {
    results_[0] = infer_elementwise(*op_info.rule, metas);
  } else {
    attrs = infer_node(op, metas, attrs, results_);
  }
  Record record{.op = op, .dtype = results_[0].dtype};
  record.shape = intern_shape(results_[0].shape);
  record.attrs = attrs;
  if (operands.size() <= Record::kInlineOperands) {
    record.operand_count = static_cast<std::uint8_t>(operands.size());
    std::ranges::copy(operands, record.operands);
  } else {
    record.operand_count = Record::kOperandList;
    record.operands[0].bits = static_cast<std::uint32_t>(graph.operand_lists.size());
    record.operands[1].bits = static_cast<std::uint32_t>(operands.size());
    graph.operand_lists.insert(graph.operand_lists.end(), operands.begin(), operands.end());
  }
  graph.nodes.push_back(record);
  graph.sources.push_back(source);
  return OperandRef::record(static_cast<std::uint32_t>(graph.nodes.size() - 1));
}

OperandRef GraphMaker::result(OperandRef producer, std::uint32_t index) {
  Record record{.op = op::result, .dtype = results_[index].dtype};
  record.operand_count = 1;
  record.shape = intern_shape(results_[index].shape);
  record.operands[0] = producer;
  record.result_index = index;
  graph.nodes.push_back(record);
  graph.sources.push_back(graph.sources[producer.index()]);
  return OperandRef::record(static_cast<std::uint32_t>(graph.nodes.size() - 1));
}

}  // namespace lento::test

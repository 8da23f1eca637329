#include "backend/node_call.h"

#include "ir/infer.h"
#include "ir/op.h"
#include "ir/shape_limit.h"

namespace lento {

std::vector<Meta> declared_results(const Graph& graph, const Record& record) {
  std::vector<Meta> operands;
  for (const OperandRef operand : graph.operands(record)) {
    if (operand.kind() != OperandRef::Kind::scalar) operands.push_back(graph.meta_of(operand));
  }
  std::vector<Meta> results(info(record.op).result_count);
  infer_node(record.op, operands, record.attrs, results);
  return results;
}

void call_node(const Graph& graph, std::uint32_t node, std::span<const ScalarArgument> scalars,
               FunctionRef<void*(OperandRef)> input, FunctionRef<void*(std::uint32_t)> result,
               FunctionRef<void*(std::size_t)> scratch, FunctionRef<void(const NodeCall&)> run) {
  const Record& record = graph.nodes[node];
  NodeCall call{.op = record.op, .attrs = record.attrs, .operands = {}, .results = {}};
  const std::span<const OperandRef> operands = graph.operands(record);
  call.operands.reserve(operands.size());
  for (const OperandRef operand : operands) {
    if (operand.kind() == OperandRef::Kind::scalar) {
      const ScalarArgument& number = scalars[operand.index()];
      call.operands.push_back({nullptr, number.dtype, nullptr, &number});
      continue;
    }
    const bool is_node = operand.kind() == OperandRef::Kind::record;
    const DType dtype = is_node ? graph.nodes[operand.index()].dtype : graph.inputs[operand.index()].dtype;
    const ShapeId shape = is_node ? graph.nodes[operand.index()].shape : graph.inputs[operand.index()].shape;
    call.operands.push_back({input(operand), dtype, &shape_of(shape), nullptr});
  }
  call.results.resize(info(record.op).result_count);
  for (std::uint32_t further = 0; further < graph.result_count(node); ++further) {
    const Record& wanted = graph.nodes[node + further];
    call.results[further == 0 ? 0 : wanted.result_index] = {result(node + further), wanted.dtype,
                                                            &shape_of(wanted.shape), nullptr};
  }
  std::vector<Meta> declared;
  if (graph.result_count(node) < call.results.size()) declared = declared_results(graph, record);
  for (std::size_t r = 0; r < declared.size(); ++r) {
    if (call.results[r].shape == nullptr) {
      call.results[r] = {scratch(size_of(declared[r].dtype) * static_cast<std::size_t>(counted(declared[r].shape))),
                         declared[r].dtype, &declared[r].shape, nullptr};
    }
  }
  run(call);
}

NodeContext::NodeContext(Op op) : saved_(call_context()) {
  CallContext& context = call_context();
  context = {};
  context.op = info(op).name;
  context.depth = 1;
}

}  // namespace lento

#include "ir/graph.h"

#include "ir/op_number.h"
#include "ir/print.h"

namespace lento {

std::uint32_t Graph::result_count(std::uint32_t node) const {
  std::uint32_t count = 1;
  while (node + count < nodes.size() && nodes[node + count].op == op::result &&
         nodes[node + count].operands[0].index() == node) {
    ++count;
  }
  return count;
}

Meta Graph::meta_of(OperandRef operand) const {
  switch (operand.kind()) {
    case OperandRef::Kind::record: {
      const Record& record = nodes[operand.index()];
      return {record.dtype, shape_of(record.shape)};
    }
    case OperandRef::Kind::leaf: {
      const GraphInput& input = inputs[operand.index()];
      return {input.dtype, shape_of(input.shape)};
    }
    case OperandRef::Kind::scalar:
      return {scalars[operand.index()].dtype, {}};
  }
  return {};
}

std::string to_string(const Graph& graph, GraphFormat format) {
  switch (format) {
    case GraphFormat::text:
      return print_text(graph);
    case GraphFormat::dot:
      return print_dot(graph);
    case GraphFormat::json:
      return print_json(graph);
  }
  return {};
}

}  // namespace lento

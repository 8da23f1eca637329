// Graph: what the compiler, the printers and the verifier read: an immutable list of records in single-assignment
// form, cut out of a tape (or parsed from text). Node i may only use nodes before i, inputs and scalars.
#pragma once

#include <lento/dtype.h>

#include "base/source.h"
#include "ir/record.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lento {

struct GraphInput {
  DType dtype = DType::float32;
  ShapeId shape{};
  friend bool operator==(const GraphInput&, const GraphInput&) = default;
};

class Graph {
 public:
  // Operands of a record refer to `nodes` (record), `inputs` (leaf) and `scalars` (scalar).
  std::vector<Record> nodes;
  std::vector<Source> sources;            // one per node
  std::vector<GraphInput> inputs;         // buffers given at run time
  std::vector<ScalarArgument> scalars;    // numbers given at run time, with the values of this trace
  std::vector<OperandRef> operand_lists;  // operands of records that have more than three
  std::vector<std::uint32_t> outputs;     // nodes whose values are wanted, in creation order
  /// Of a graph that a pass made: the node of the trace that each node stands for. Empty: they are the same.
  std::vector<std::uint32_t> origins;

  /// All operands of a record of this graph, wherever they are kept.
  std::span<const OperandRef> operands(const Record& record) const {
    if (record.operand_count != Record::kOperandList) return {record.operands, record.operand_count};
    return {operand_lists.data() + record.operands[0].bits, record.operands[1].bits};
  }
  /// dtype and shape of an operand; a scalar has shape ().
  Meta meta_of(OperandRef operand) const;
  /// The node of the trace that a node stands for; its line is the one a failure names.
  std::uint32_t origin(std::uint32_t node) const { return origins.empty() ? node : origins[node]; }
  /// How many records the op at `node` fills: its own, and those of its further results, which follow it.
  std::uint32_t result_count(std::uint32_t node) const;
};

/// Bytes of a value, of a record's result, of an input.
inline std::size_t byte_size(DType dtype, const Shape& shape) {
  return static_cast<std::size_t>(element_count(shape)) * size_of(dtype);
}
inline std::size_t byte_size(const Meta& meta) { return byte_size(meta.dtype, meta.shape); }
inline std::size_t byte_size(const Record& record) { return byte_size(record.dtype, shape_of(record.shape)); }
inline std::size_t byte_size(const GraphInput& input) { return byte_size(input.dtype, shape_of(input.shape)); }

/// Checks every rule of the form: operands come earlier, arities and kinds fit the op, re-inferred dtypes and shapes
/// equal the recorded ones, results follow their op, outputs exist. Throws BackendError naming node and rule.
void verify(const Graph& graph);

enum class GraphFormat : std::uint8_t { text, dot, json };

/// text: one node a line, stable numbering, types, source; dot: Graphviz; json: one object, documented in docs/ir.md.
std::string to_string(const Graph& graph, GraphFormat format = GraphFormat::text);
/// Reads the text form back. Throws ValueError with line and column. parse_graph(to_string(g)) prints the same text.
Graph parse_graph(std::string_view text);

}  // namespace lento

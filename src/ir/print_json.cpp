// The graph as one JSON object; docs/ir.md describes its fields.
#include "base/format.h"
#include "ir/op.h"
#include "ir/op_number.h"
#include "ir/print.h"

#include <bit>
#include <cmath>
#include <iterator>

namespace lento {

namespace {

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::size_t length = utf8_length(text, i);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (length == 0) {
      out += "\\ufffd";
    } else if ((c >= 0 && c < ' ') || c == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  out += '"';
}

void append_type_fields(std::string& out, DType dtype, ShapeId shape) {
  fmt::format_to(std::back_inserter(out), R"("dtype": "{}", "shape": [{}])", dtype, fmt::join(shape_of(shape), ", "));
}

void append_operand_string(std::string& out, OperandRef operand) {
  out += '"';
  append_operand(out, operand);
  out += '"';
}

void append_json_attribute(std::string& out, const Attribute& attribute) {
  const ArgKind kind = attribute.arg->kind;
  if (!attribute.present) {
    out += "null";
  } else if (kind == ArgKind::dtype || kind == ArgKind::choice ||
             (kind == ArgKind::float_ && !std::isfinite(std::bit_cast<double>(attribute.values[0])))) {
    // JSON has no words and no infinities of its own.
    std::string word;
    append_attribute(word, attribute);
    append_json_string(out, word);
  } else {
    append_attribute(out, attribute);
  }
}

void append_scalar_object(std::string& out, const ScalarArgument& scalar, std::uint32_t index) {
  constexpr std::string_view kKinds[] = {"bool", "int", "int", "float", "complex"};
  out += R"({"name": )";
  append_operand_string(out, OperandRef::scalar(index));
  fmt::format_to(std::back_inserter(out), R"(, "dtype": "{}", "kind": "{}", "value": ")", scalar.dtype,
                 kKinds[static_cast<int>(scalar.value.kind())]);
  append_scalar(out, scalar.value);
  out += "\"}";
}

void append_node_object(std::string& out, const Graph& graph, std::uint32_t node) {
  const Record& record = graph.nodes[node];
  out += R"({"name": )";
  append_operand_string(out, OperandRef::record(node));
  out.append(R"(, "op": ")").append(info(record.op).name).append(R"(", "operands": [)");
  bool first = true;
  for (const OperandRef operand : graph.operands(record)) {
    if (!first) out += ", ";
    first = false;
    append_operand_string(out, operand);
  }
  out += R"(], "attributes": {)";
  first = true;
  if (record.op == op::result) fmt::format_to(std::back_inserter(out), R"("index": {})", record.result_index);
  for (const Attribute& attribute : attributes_of(record)) {
    if (!first) out += ", ";
    first = false;
    append_json_string(out, attribute.arg->name);
    out += ": ";
    append_json_attribute(out, attribute);
  }
  out += "}, ";
  append_type_fields(out, record.dtype, record.shape);
  const Source& source = graph.sources[node];
  const SourceLine line = source_line(source);
  if (line.known) {
    out += R"(, "file": )";
    append_json_string(out, line.file);
    fmt::format_to(std::back_inserter(out), R"(, "line": {})", line.line);
  }
  if (const std::string scope = scope_name(source.scope); !scope.empty()) {
    out += R"(, "scope": )";
    append_json_string(out, scope);
  }
  out += '}';
}

/// `append(i)` for each of `count` elements, one per line.
template <class Append>
void append_array(std::string& out, std::string_view name, std::size_t count, Append&& append) {
  fmt::format_to(std::back_inserter(out), "  \"{}\": [", name);
  for (std::uint32_t i = 0; i < count; ++i) {
    out += i == 0 ? "\n    " : ",\n    ";
    append(i);
  }
  out += count == 0 ? "]" : "\n  ]";
}

}  // namespace

std::string print_json(const Graph& graph) {
  std::string out = "{\n  \"format\": \"lento-graph\",\n  \"version\": 1,\n";
  append_array(out, "inputs", graph.inputs.size(), [&](std::uint32_t i) {
    out += R"({"name": )";
    append_operand_string(out, OperandRef::leaf(i));
    out += ", ";
    append_type_fields(out, graph.inputs[i].dtype, graph.inputs[i].shape);
    out += '}';
  });
  out += ",\n";
  append_array(out, "scalars", graph.scalars.size(),
               [&](std::uint32_t i) { append_scalar_object(out, graph.scalars[i], i); });
  out += ",\n";
  append_array(out, "nodes", graph.nodes.size(), [&](std::uint32_t i) { append_node_object(out, graph, i); });
  out += ",\n";
  append_array(out, "outputs", graph.outputs.size(),
               [&](std::uint32_t i) { append_operand_string(out, OperandRef::record(graph.outputs[i])); });
  out += "\n}\n";
  return out;
}

}  // namespace lento

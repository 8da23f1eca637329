// The graph for Graphviz: inputs as ellipses, numbers in their consumer's text, outputs with a double border.
#include "ir/op.h"
#include "ir/print.h"

#include <vector>

namespace lento {

namespace {

/// Text inside a DOT string: quotes and backslashes escaped, what cannot be shown replaced.
void append_label(std::string& out, std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::size_t length = utf8_length(text, i);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (length == 0 || (c >= 0 && c < ' ')) {
      out += "\xef\xbf\xbd";  // U+FFFD
    } else {
      out += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
}

void append_node_label(std::string& out, const Graph& graph, std::uint32_t node) {
  const Record& record = graph.nodes[node];
  std::string line;
  append_operand(line, OperandRef::record(node));
  line += " = ";
  append_call(line, graph, record, true);
  append_label(out, line);
  out += "\\n";
  append_type(out, record.dtype, record.shape);
  const Source& source = graph.sources[node];
  if (const SourceLine where = source_line(source); where.known) {
    out += "\\n";
    append_label(out, where.file);
    out += ":" + std::to_string(where.line);
  }
  if (const std::string scope = scope_name(source.scope); !scope.empty()) {
    out += "\\n";
    append_label(out, scope);
  }
}

}  // namespace

std::string print_dot(const Graph& graph) {
  std::string out = "digraph lento {\n  node [shape=box, fontname=\"monospace\"];\n";
  for (std::uint32_t i = 0; i < graph.inputs.size(); ++i) {
    out += "  in" + std::to_string(i) + " [shape=ellipse, label=\"";
    append_operand(out, OperandRef::leaf(i));
    out += "\\n";
    append_type(out, graph.inputs[i].dtype, graph.inputs[i].shape);
    out += "\"];\n";
  }
  std::vector<bool> is_output(graph.nodes.size());
  for (const std::uint32_t output : graph.outputs) is_output[output] = true;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const std::string id = "n" + std::to_string(i);
    out += "  " + id + " [label=\"";
    append_node_label(out, graph, i);
    out += is_output[i] ? "\", peripheries=2];\n" : "\"];\n";
    for (const OperandRef operand : graph.operands(graph.nodes[i])) {
      if (operand.kind() == OperandRef::Kind::scalar) continue;
      const bool node = operand.kind() == OperandRef::Kind::record;
      out += "  " + std::string(node ? "n" : "in") + std::to_string(operand.index()) + " -> " + id + ";\n";
    }
  }
  out += "}\n";
  return out;
}

}  // namespace lento

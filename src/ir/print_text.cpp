// The text form: one node a line, which parse.cpp reads back. docs/ir.md has its grammar.
#include "ir/op.h"
#include "ir/print.h"

#include <algorithm>

namespace lento {

namespace {

constexpr std::size_t kHeaderWidth = 100;  // a longer header is broken into one line an argument
constexpr std::size_t kSourceColumn = 64;  // where sources stand, so that they can be read as a column

void append_node_name(std::string& out, std::uint32_t node) { append_operand(out, OperandRef::record(node)); }

void append_header(std::string& out, const Graph& graph, std::string_view separator) {
  for (std::uint32_t i = 0; i < graph.inputs.size(); ++i) {
    if (i != 0) out.append(",").append(separator);
    append_operand(out, OperandRef::leaf(i));
    out += ": ";
    append_type(out, graph.inputs[i].dtype, graph.inputs[i].shape);
  }
  for (std::uint32_t i = 0; i < graph.scalars.size(); ++i) {
    out.append(i == 0 ? ";" : ",").append(separator);
    append_operand(out, OperandRef::scalar(i));
    out.append(": ").append(name(graph.scalars[i].dtype)).append(" = ");
    append_scalar(out, graph.scalars[i].value);
  }
}

bool needs_no_quotes(std::string_view file) {
  return !file.empty() && std::ranges::all_of(file, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("_.-+<>").find(c) != std::string_view::npos;
  });
}

/// Sources repeat from line to line, and looking one up may mean asking a front end.
class SourceText {
 public:
  const std::string& operator()(const Source& source) {
    if (first_ || source != last_) {
      first_ = false;
      last_ = source;
      text_ = make(source);
    }
    return text_;
  }

 private:
  static std::string make(const Source& source) {
    std::string text;
    if (const SourceLine line = source_line(source); line.known) {
      text += "  @ ";
      if (needs_no_quotes(line.file)) {
        text += line.file;
      } else {
        append_quoted(text, line.file);
      }
      text += ":" + std::to_string(line.line);
    }
    if (const std::string scope = scope_name(source.scope); !scope.empty()) {
      text += text.empty() ? "  in " : " in ";
      append_quoted(text, scope);
    }
    return text;
  }

  bool first_ = true;
  Source last_;
  std::string text_;
};

}  // namespace

std::string print_text(const Graph& graph) {
  std::string header;
  append_header(header, graph, " ");
  std::string out = "graph(";
  if (header.size() <= kHeaderWidth) {
    out += header;
  } else {
    out += "\n  ";
    append_header(out, graph, "\n  ");
    out += '\n';
  }
  out += ") {\n";

  SourceText source_text;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const Record& record = graph.nodes[i];
    const std::size_t line_start = out.size();
    out += "  ";
    append_node_name(out, i);
    out += " = ";
    append_call(out, graph, record, false);
    out += " : ";
    append_type(out, record.dtype, record.shape);
    if (const std::string& source = source_text(graph.sources[i]); !source.empty()) {
      const std::size_t width = out.size() - line_start;
      if (width < kSourceColumn) out.append(kSourceColumn - width, ' ');
      out += source;
    }
    out += '\n';
  }

  out += "  return";
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    out += i == 0 ? " " : ", ";
    append_node_name(out, graph.outputs[i]);
  }
  out += "\n}\n";
  return out;
}

}  // namespace lento

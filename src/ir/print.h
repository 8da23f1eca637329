// The printers of graphs, one file each (print_text.cpp, print_dot.cpp, print_json.cpp), and the words they share: how
// an operand, a number, a type, an attribute and a source line are written.
#pragma once

#include "ir/attr_list.h"
#include "ir/graph.h"

#include <string>
#include <string_view>

namespace lento {

std::string print_text(const Graph& graph);
std::string print_dot(const Graph& graph);
std::string print_json(const Graph& graph);

/// "%3" for a node, "%in0" for an input, "$1" for a number.
void append_operand(std::string& out, OperandRef operand);
/// "float32(2, 3)".
void append_type(std::string& out, DType dtype, ShapeId shape);

/// A double so that it reads back bit by bit: 0.1, 1.0, -0.0, 1e+300, inf, -inf, nan, nan(0x7ff8000000000001).
void append_float(std::string& out, double value);
/// A number so that kind and bits read back: true, 3, 0.1, complex(1.0, -0.0).
void append_scalar(std::string& out, const Scalar& value);
/// The value of an attribute: 3, [0, 1], true, float32, add, 0.5; none where it is optional and not there.
void append_attribute(std::string& out, const Attribute& attribute);
/// `add(%0, $1)`, `reduce_sum(%2, axes=[0], keepdims=false)`. With `numbers_inline` the value of a number stands in its
/// place.
void append_call(std::string& out, const Graph& graph, const Record& record, bool numbers_inline);

/// Text in double quotes. Backslash, quote and control characters are escaped, and so are bytes that are no UTF-8, so
/// that the result always is.
void append_quoted(std::string& out, std::string_view text);
/// Bytes of the UTF-8 character at `at`; 0 when there is none.
std::size_t utf8_length(std::string_view text, std::size_t at);

/// File and line of a source as text. The file is empty and the line 0 when the source is unknown.
struct SourceLine {
  std::string file;  // without folders
  std::uint32_t line = 0;
  bool known = false;
};
SourceLine source_line(const Source& source);

}  // namespace lento

// The words that all printers share.
#include "base/format.h"
#include "ir/op.h"
#include "ir/op_number.h"
#include "ir/print.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

namespace lento {

void append_operand(std::string& out, OperandRef operand) {
  constexpr std::string_view kPrefixes[] = {"%", "%in", "$", "?"};
  fmt::format_to(std::back_inserter(out), "{}{}", kPrefixes[static_cast<int>(operand.kind())], operand.index());
}

void append_type(std::string& out, DType dtype, ShapeId shape) {
  out += name(dtype);
  const Shape& extents = shape_of(shape);
  out += '(';
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (i != 0) out += ", ";
    fmt::format_to(std::back_inserter(out), "{}", extents[i]);
  }
  out += extents.size() == 1 ? ",)" : ")";
}

void append_float(std::string& out, double value) {
  if (std::isnan(value)) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    if (bits == 0x7ff8000000000000U) {
      out += "nan";
    } else {
      fmt::format_to(std::back_inserter(out), "nan({:#018x})", bits);
    }
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
    return;
  }
  char text[40];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  const std::string_view digits(text, static_cast<std::size_t>(end - text));
  out += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";  // 1 would read back as an integer
}

void append_scalar(std::string& out, const Scalar& value) {
  switch (value.kind()) {
    case Scalar::Kind::bool_:
      out += value.to<bool>() ? "true" : "false";
      return;
    case Scalar::Kind::int_:
      fmt::format_to(std::back_inserter(out), "{}", value.to<std::int64_t>());
      return;
    case Scalar::Kind::uint_:
      fmt::format_to(std::back_inserter(out), "{}", value.to<std::uint64_t>());
      return;
    case Scalar::Kind::float_:
      append_float(out, value.to<double>());
      return;
    case Scalar::Kind::complex_: {
      const auto number = value.to<std::complex<double>>();
      out += "complex(";
      append_float(out, number.real());
      out += ", ";
      append_float(out, number.imag());
      out += ')';
      return;
    }
  }
}

void append_attribute(std::string& out, const Attribute& attribute) {
  if (!attribute.present) {
    out += "none";
    return;
  }
  const std::span<const std::int64_t> values = attribute.values;
  switch (attribute.arg->kind) {
    case ArgKind::ints:
      out += '[';
      for (std::size_t i = 0; i < values.size(); ++i) {
        fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ", ", values[i]);
      }
      out += ']';
      return;
    case ArgKind::bool_:
      out += values[0] != 0 ? "true" : "false";
      return;
    case ArgKind::dtype:
      out += name(static_cast<DType>(values[0]));
      return;
    case ArgKind::choice:
      out += attribute.arg->choices[static_cast<std::size_t>(values[0])];
      return;
    case ArgKind::float_:
      append_float(out, std::bit_cast<double>(values[0]));
      return;
    default:
      fmt::format_to(std::back_inserter(out), "{}", values[0]);
      return;
  }
}

void append_call(std::string& out, const Graph& graph, const Record& record, bool numbers_inline) {
  out.append(info(record.op).name).append("(");
  std::string_view separator;
  for (const OperandRef operand : graph.operands(record)) {
    out += std::exchange(separator, ", ");
    if (numbers_inline && operand.kind() == OperandRef::Kind::scalar) {
      append_scalar(out, graph.scalars[operand.index()].value);
    } else {
      append_operand(out, operand);
    }
  }
  if (record.op == op::result) fmt::format_to(std::back_inserter(out), ", index={}", record.result_index);
  for (const Attribute& attribute : attributes_of(record)) {
    out += std::exchange(separator, ", ");
    out.append(attribute.arg->name).append("=");
    append_attribute(out, attribute);
  }
  out += ')';
}

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  // Overlong forms, surrogates and what lies beyond Unicode.
  const unsigned second = byte(1);
  const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                     (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return wrong ? 0 : length;
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::size_t length = utf8_length(text, i);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (length == 0 || (c >= 0 && c < ' ') || c == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += text.substr(i, length);
    }
    i += std::max<std::size_t>(length, 1);
  }
  out += '"';
}

SourceLine source_line(const Source& source) {
  const std::string text = to_string(source);
  if (text.empty()) return {};
  SourceLine result{text, 0, true};
  if (const auto colon = text.rfind(':'); colon != std::string::npos) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, result.line);
    if (error == std::errc{} && stop == end && result.line < Source::kForeign) {
      result.file.resize(colon);
    } else {
      result.line = 0;
    }
  }
  if (const auto slash = result.file.rfind('/'); slash != std::string::npos) result.file.erase(0, slash + 1);
  return result;
}

}  // namespace lento

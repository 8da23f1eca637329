#include "python_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "load.h"

namespace lento::opgen {

std::string python_default(const Arg& arg, bool literal_only) {
  const std::string& value = *arg.value;
  if (value == "null" || value == "None") return "None";
  if (value == "true") return "True";
  if (value == "false") return "False";
  if (arg.type.list) {
    const auto elements = list_elements(value);
    if (value.front() != '[' && elements.size() == 1) return elements[0];
    return fmt::format("({}{})", fmt::join(elements, ", "), elements.size() == 1 ? "," : "");
  }
  if (arg.type.kind == ArgKind::choice || arg.type.kind == ArgKind::string) return fmt::format("'{}'", value);
  if (value.ends_with("inf") || value == "nan") return literal_only ? "None" : value;
  if (arg.type.kind == ArgKind::dtype) return literal_only ? "None" : value;
  return value;
}

std::string python_signature(const Entry& entry, bool literal_only) {
  std::string text = "(";
  bool keyword_only = false;
  for (const Arg& arg : entry.args) {
    if (text.size() > 1) text += ", ";
    if (arg.keyword_only && !keyword_only) {
      text += "*, ";
      keyword_only = true;
    }
    if (arg.type.separate) {
      text += "*";
      keyword_only = true;
    }
    text += arg.name;
    if (arg.value) text += "=" + python_default(arg, literal_only);
  }
  return text + ")";
}

std::string python_type_words(const Arg& arg) {
  std::string words;
  switch (arg.type.kind) {
    case ArgKind::tensor:
      words = arg.type.separate ? "Tensors" : arg.type.list ? "sequence of Tensors" : "Tensor";
      break;
    case ArgKind::operand:
      words = "Tensor or number";
      break;
    case ArgKind::number:
      words = arg.type.list ? "number or sequence of numbers" : "number";
      break;
    case ArgKind::integer:
      words = arg.type.list ? "int or sequence of ints" : "int";
      break;
    case ArgKind::floating:
      words = "float";
      break;
    case ArgKind::boolean:
      words = "bool";
      break;
    case ArgKind::dtype:
      words = "dtype";
      break;
    case ArgKind::device:
      words = "Device";
      break;
    case ArgKind::choice:
      words = fmt::format("{{'{}'}}", fmt::join(arg.type.choices, "', '"));
      break;
    case ArgKind::string:
      words = "str";
      break;
    case ArgKind::generator:
      words = "Generator";
      break;
  }
  if (!arg.value) return words;
  const std::string value = python_default(arg, false);
  return words + (value == "None" ? ", optional" : ", default " + value);
}

bool variadic(const Entry& entry, std::size_t index) {
  const Arg& arg = entry.args[index];
  const bool has_value = arg.value && *arg.value != "null";
  if (entry.method.empty() || index != 1 || arg.type.kind != ArgKind::integer || !arg.type.list || has_value ||
      arg.keyword_only)
    return false;
  return entry.args.size() == 2 || entry.args[2].keyword_only;
}

std::string python_name(const Entry& entry, const std::string& name) {
  return entry.space.empty() ? "lento." + name : "lento." + entry.space + "." + name;
}

}  // namespace lento::opgen

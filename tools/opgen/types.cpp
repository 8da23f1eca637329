// The small languages inside the YAML values: argument types with defaults, and dtype rules.
#include <algorithm>
#include <cctype>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "load.h"

namespace lento::opgen {

namespace {

std::string trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\n") - first + 1));
}

Position shifted(Position at, std::size_t by) {
  at.column += static_cast<int>(by);
  return at;
}

std::vector<Text> split(const std::string& text, char separator, const Position& at) {
  std::vector<Text> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t lead = std::min(part.find_first_not_of(" \t\n"), part.size());
    parts.push_back({trim(part), shifted(at, begin + lead)});
    begin = end + 1;
  }
  return parts;
}

const std::vector<std::pair<std::string, ArgKind>> kBases = {
    {"Tensor", ArgKind::tensor},       {"Operand", ArgKind::operand}, {"number", ArgKind::number},
    {"int", ArgKind::integer},         {"float", ArgKind::floating},  {"bool", ArgKind::boolean},
    {"dtype", ArgKind::dtype},         {"device", ArgKind::device},   {"str", ArgKind::string},
    {"Generator", ArgKind::generator}, {"offset", ArgKind::integer},
};

std::vector<std::string> base_names() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kBases) names.push_back(name);
  return names;
}

bool is_integer_literal(const std::string& text) {
  static const std::regex pattern("[+-]?[0-9]+");
  return std::regex_match(text, pattern);
}

bool is_number_literal(const std::string& text) {
  static const std::regex pattern("[+-]?([0-9]+\\.?[0-9]*([eE][+-]?[0-9]+)?|\\.[0-9]+([eE][+-]?[0-9]+)?|inf|nan)");
  return std::regex_match(text, pattern);
}

}  // namespace

std::vector<std::string> list_elements(const std::string& value) {
  std::string inner = trim(value);
  if (inner.size() >= 2 && inner.front() == '[' && inner.back() == ']') inner = trim(inner.substr(1, inner.size() - 2));
  std::vector<std::string> elements;
  if (inner.empty()) return elements;
  for (Text& part : split(inner, ',', {})) elements.push_back(std::move(part.value));
  return elements;
}

std::string wrong_default(const ArgType& type, const std::string& value) {
  if (value == "null" || value == "None") return type.optional ? "" : "a value: only optional types ('?') have null";
  if (type.list) {
    ArgType element = type;
    element.list = false;
    element.optional = false;
    for (const std::string& each : list_elements(value)) {
      if (const std::string wrong = wrong_default(element, each); !wrong.empty()) return "a list of " + wrong;
    }
    return "";
  }
  switch (type.kind) {
    case ArgKind::integer:
      return is_integer_literal(value) ? "" : "an integer";
    case ArgKind::floating:
      return is_number_literal(value) ? "" : "a number";
    case ArgKind::number:
    case ArgKind::operand:
      return is_number_literal(value) || value == "true" || value == "false" ? "" : "a number";
    case ArgKind::boolean:
      return value == "true" || value == "false" ? "" : "true or false";
    case ArgKind::dtype:
      return std::find(kDtypes.begin(), kDtypes.end(), value) != kDtypes.end() ? ""
                                                                               : "a dtype" + suggestion(value, kDtypes);
    case ArgKind::choice:
      return std::find(type.choices.begin(), type.choices.end(), value) != type.choices.end()
                 ? ""
                 : fmt::format("one of {}", fmt::join(type.choices, ", ")) + suggestion(value, type.choices);
    case ArgKind::string:
      return "";
    case ArgKind::tensor:
    case ArgKind::device:
    case ArgKind::generator:
      return "no default, or null with an optional type";
  }
  return "";
}

bool parse_arg_type(const Text& text, Arg& arg, Diagnostics& diagnostics) {
  std::string type = text.value;
  if (const std::size_t equals = type.find('='); equals != std::string::npos) {
    arg.value = trim(type.substr(equals + 1));
    if (arg.value->size() >= 2 && (arg.value->front() == '\'' || arg.value->front() == '"') &&
        arg.value->back() == arg.value->front()) {
      arg.value = arg.value->substr(1, arg.value->size() - 2);
    }
    type = type.substr(0, equals);
  }
  type = trim(type);
  arg.type_text = type;
  static const std::regex pattern(R"(([A-Za-z_]+)(\(\s*([a-z0-9]+)\s*\))?(\{([^{}]*)\})?(\[\]|\.\.\.)?(\?)?)");
  std::smatch match;
  if (!std::regex_match(type, match, pattern)) {
    diagnostics.error(text.at,
                      fmt::format("malformed type '{}' of argument '{}'; a type is a name with an optional '{{a,b}}', "
                                  "'[]' or '...', and '?', such as 'int[]? = null'",
                                  type, arg.name));
    return false;
  }
  const std::string base = match[1];
  const auto found = std::find_if(kBases.begin(), kBases.end(), [&](const auto& each) { return each.first == base; });
  if (found == kBases.end()) {
    diagnostics.error(
        text.at, fmt::format("unknown type '{}' of argument '{}'{}", base, arg.name, suggestion(base, base_names())));
    return false;
  }
  arg.type.kind = found->second;
  arg.type.list = match[6].matched;
  arg.type.separate = match[6] == "...";
  arg.type.saturates = base == "offset";
  arg.type.optional = match[7].matched;
  bool good = true;
  if (match[2].matched) {
    arg.type.number_dtype = match[3];
    if (arg.type.kind != ArgKind::number) {
      diagnostics.error(
          text.at, fmt::format("type '{}' of argument '{}': only number takes a dtype in parentheses", type, arg.name));
      good = false;
    } else if (std::find(kDtypes.begin(), kDtypes.end(), arg.type.number_dtype) == kDtypes.end()) {
      diagnostics.error(text.at, fmt::format("unknown dtype '{}' in the type of argument '{}'{}", arg.type.number_dtype,
                                             arg.name, suggestion(arg.type.number_dtype, kDtypes)));
      good = false;
    }
  }
  if (match[4].matched) {
    if (arg.type.kind != ArgKind::string) {
      diagnostics.error(text.at,
                        fmt::format("type '{}' of argument '{}': only str takes choices in braces", type, arg.name));
      return false;
    }
    arg.type.kind = ArgKind::choice;
    for (Text& choice : split(match[5], ',', text.at)) {
      if (choice.value.empty() ||
          std::find(arg.type.choices.begin(), arg.type.choices.end(), choice.value) != arg.type.choices.end()) {
        diagnostics.error(
            text.at, fmt::format("empty or repeated choice '{}' in the type of argument '{}'", choice.value, arg.name));
        good = false;
      }
      arg.type.choices.push_back(std::move(choice.value));
    }
  }
  const ArgKind kind = arg.type.kind;
  if (arg.type.list && kind != ArgKind::tensor && kind != ArgKind::number && kind != ArgKind::integer) {
    diagnostics.error(
        text.at, fmt::format("type '{}' of argument '{}': only Tensor, number and int make lists", type, arg.name));
    good = false;
  }
  if ((arg.type.separate && (kind != ArgKind::tensor || arg.type.optional)) || (arg.type.saturates && arg.type.list)) {
    diagnostics.error(
        text.at,
        fmt::format("type '{}' of argument '{}': '...' is for Tensor alone, and an offset is one int", type, arg.name));
    good = false;
  }
  if (arg.value && good) {
    if (const std::string expected = wrong_default(arg.type, *arg.value); !expected.empty()) {
      diagnostics.error(text.at, fmt::format("default '{}' of argument '{}: {}' has the wrong kind; expected {}",
                                             *arg.value, arg.name, type, expected));
      good = false;
    }
  }
  return good;
}

bool parse_dtype_rule(const Text& text, DtypeRule& rule, Diagnostics& diagnostics) {
  rule.text = text.value;
  rule.at = text.at;
  static const std::regex pattern(R"(\s*([A-Za-z0-9_]+)\s*\(([^()]*)\)\s*(in\s+(.*\S))?\s*)");
  std::smatch match;
  if (!std::regex_match(text.value, match, pattern)) {
    diagnostics.error(
        text.at, fmt::format("malformed dtype rule '{}'; a rule is '<result>(<arguments>) in <class>|<class>', such as "
                             "'float(x) in floating|complex'",
                             text.value));
    return false;
  }
  static const std::vector<std::pair<std::string, ResultRule>> kResults = {
      {"same", ResultRule::same},    {"promote", ResultRule::promote}, {"float", ResultRule::floating},
      {"bool", ResultRule::boolean}, {"real", ResultRule::real},       {"complex", ResultRule::complex}};
  const std::string result = match[1];
  const auto found =
      std::find_if(kResults.begin(), kResults.end(), [&](const auto& each) { return each.first == result; });
  bool good = true;
  if (found != kResults.end()) {
    rule.result = found->second;
  } else if (std::find(kDtypes.begin(), kDtypes.end(), result) != kDtypes.end()) {
    rule.result = ResultRule::fixed;
    rule.fixed = result;
  } else {
    std::vector<std::string> words;
    for (const auto& [word, value] : kResults) words.push_back(word);
    words.insert(words.end(), kDtypes.begin(), kDtypes.end());
    diagnostics.error(shifted(text.at, static_cast<std::size_t>(match.position(1))),
                      fmt::format("unknown dtype rule '{}'{}", result, suggestion(result, words)));
    good = false;
  }
  if (!trim(match[2].str()).empty()) {
    for (Text& arg : split(match[2], ',', shifted(text.at, static_cast<std::size_t>(match.position(2))))) {
      rule.args.push_back(std::move(arg.value));
    }
  }
  const std::string classes = match[4].matched ? match[4].str() : "any";
  const Position at = match[4].matched ? shifted(text.at, static_cast<std::size_t>(match.position(4))) : text.at;
  for (const Text& word : split(classes, '|', at)) {
    const unsigned set = dtype_set(word.value);
    if (set == 0) {
      std::vector<std::string> words;
      for (const auto& [name, bits] : kDtypeClasses) words.push_back(name);
      words.insert(words.end(), kDtypes.begin(), kDtypes.end());
      diagnostics.error(word.at, fmt::format("unknown dtype class '{}'{}", word.value, suggestion(word.value, words)));
      good = false;
    }
    rule.classes.push_back(word.value);
    rule.dtypes |= set;
  }
  return good;
}

}  // namespace lento::opgen

#include "yaml_file.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/format.h>

namespace lento::opgen {

namespace {

/// Results may have the Array API's capital names: Q, R, Vh.
bool is_result_name(const std::string& text) {
  static const std::regex pattern("[A-Za-z][a-z0-9_]*");
  return std::regex_match(text, pattern);
}

/// JSON allows neither a leading plus or point nor a trailing point.
std::string json_number(std::string value) {
  if (value.front() == '+') value.erase(0, 1);
  const std::size_t point = value.find('.');
  if (point != std::string::npos) {
    if (point + 1 == value.size() || !std::isdigit(static_cast<unsigned char>(value[point + 1])))
      value.insert(point + 1, "0");
    if (point == 0 || !std::isdigit(static_cast<unsigned char>(value[point - 1]))) value.insert(point, "0");
  }
  return value;
}

}  // namespace

bool is_identifier(const std::string& text) {
  static const std::regex pattern("[a-z][a-z0-9_]*");
  return std::regex_match(text, pattern);
}

std::optional<YAML::Node> YamlFile::read() {
  std::ifstream stream(path_);
  std::stringstream buffer;
  buffer << stream.rdbuf();
  if (!stream) {
    diagnostics_.error({path_.string(), 0, 0}, "cannot read the file");
    return {};
  }
  std::string line;
  while (std::getline(buffer, line)) lines_.push_back(line);
  std::vector<YAML::Node> documents;
  try {
    documents = YAML::LoadAll(buffer.str());
  } catch (const YAML::Exception& e) {
    diagnostics_.error(position(e.mark), fmt::format("bad YAML: {}", e.msg));
    return {};
  }
  if (documents.empty() || documents[0].IsNull()) return {};
  const YAML::Node& root = documents[0];
  if (documents.size() > 1) error(documents[1], "a second document ('---') in the file; a catalogue file is one list");
  if (!root.IsSequence()) {
    diagnostics_.error({path_.string(), 1, 1},
                       "a catalogue file is a list of entries, each starting with '- op: name'");
    return {};
  }
  return root;
}

Text YamlFile::text(const YAML::Node& node) const {
  Position at = position(node);
  if (at.line >= 1 && static_cast<std::size_t>(at.line) <= lines_.size()) {
    const std::string& line = lines_[static_cast<std::size_t>(at.line) - 1];
    const char first =
        static_cast<std::size_t>(at.column) <= line.size() ? line[static_cast<std::size_t>(at.column) - 1] : ' ';
    if (first == '"' || first == '\'') {
      ++at.column;
    } else if (first == '|' || first == '>') {
      ++at.line;
      const std::string below =
          static_cast<std::size_t>(at.line) <= lines_.size() ? lines_[static_cast<std::size_t>(at.line) - 1] : "";
      at.column = static_cast<int>(std::min(below.find_first_not_of(' '), below.size())) + 1;
    }
  }
  return {node.Scalar(), at};
}

std::optional<Text> YamlFile::scalar(const YAML::Node& node, const char* key) {
  if (node.IsScalar()) return text(node);
  error(node, fmt::format("'{}' takes a text, not a {}", key, node.IsNull() ? "null" : node.IsMap() ? "map" : "list"));
  return {};
}

std::optional<bool> YamlFile::boolean(const YAML::Node& node, const char* key) {
  if (node.IsScalar() && (node.Scalar() == "true" || node.Scalar() == "false")) return node.Scalar() == "true";
  error(node, fmt::format("'{}' takes true or false", key));
  return {};
}

std::vector<Text> YamlFile::words(const YAML::Node& node, const char* key, bool capital) {
  std::vector<Text> result;
  if (!node.IsSequence()) {
    error(node, fmt::format("'{}' takes a list of names", key));
    return result;
  }
  for (const YAML::Node& each : node) {
    if (!each.IsScalar() || !(capital ? is_result_name(each.Scalar()) : is_identifier(each.Scalar()))) {
      error(each, fmt::format("'{}' takes names in snake_case, not '{}'", key, each.IsScalar() ? each.Scalar() : "…"));
      continue;
    }
    result.push_back(text(each));
  }
  return result;
}

std::vector<YamlFile::Argument> YamlFile::arguments(const YAML::Node& node, const char* key) {
  std::vector<Argument> result;
  if (!node.IsSequence()) {
    error(node, fmt::format("'{}' takes a list such as [x: Tensor, axis: int = -1]", key));
    return result;
  }
  bool keyword_only = false;
  for (const YAML::Node& each : node) {
    if (each.IsScalar() && each.Scalar() == "*") {
      if (keyword_only) error(each, fmt::format("a second '*' in '{}'", key));
      keyword_only = true;
      continue;
    }
    Argument argument;
    argument.keyword_only = keyword_only;
    if (each.IsMap() && each.size() == 1 && each.begin()->second.IsScalar()) {
      argument.name = text(each.begin()->first);
      argument.type = text(each.begin()->second);
    } else if (each.IsScalar() && each.Scalar().find(':') != std::string::npos) {
      argument.name = text(each);
      std::string& whole = argument.name.value;
      const std::size_t colon = whole.find(':');
      const std::size_t start = std::min(whole.find_first_not_of(' ', colon + 1), whole.size());
      argument.type = {whole.substr(start), argument.name.at};
      argument.type.at.column += static_cast<int>(start);
      whole.resize(colon);
    } else {
      error(each, fmt::format("malformed argument '{}'; write 'name: type' or 'name: type = default'",
                              each.IsScalar() ? each.Scalar() : "…"));
      continue;
    }
    if (!is_identifier(argument.name.value)) {
      diagnostics_.error(argument.name.at, fmt::format("argument name '{}' is not in snake_case", argument.name.value));
      continue;
    }
    result.push_back(std::move(argument));
  }
  return result;
}

Json YamlFile::to_json(const YAML::Node& node, const char* key) {
  if (node.IsNull() || !node.IsDefined()) return {};
  if (node.IsSequence()) {
    Json result = Json::array();
    for (const YAML::Node& each : node) result.add(to_json(each, key));
    return result;
  }
  if (node.IsMap()) {
    Json result = Json::object();
    std::set<std::string> seen;
    for (const auto& pair : node) {
      if (!seen.insert(pair.first.Scalar()).second) {
        error(pair.first, fmt::format("duplicate key '{}' in '{}'", pair.first.Scalar(), key));
      }
      result.set(pair.first.Scalar(), to_json(pair.second, key));
    }
    return result;
  }
  const std::string& value = node.Scalar();
  static const std::regex number("[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][+-]?[0-9]+)?");
  if (node.Tag() == "!") return Json::string(value);
  if (value == "true" || value == "false") return Json::literal(value);
  if (value == "null" || value == "~") return {};
  if (std::regex_match(value, number)) return Json::literal(json_number(value));
  return Json::string(value);
}

}  // namespace lento::opgen

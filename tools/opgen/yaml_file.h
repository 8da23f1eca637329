// A YAML file that knows where everything stands: what does not fit is reported with its line and column.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "diagnostics.h"
#include "model.h"

namespace lento::opgen {

/// snake_case
bool is_identifier(const std::string& text);

class YamlFile {
 public:
  YamlFile(const std::filesystem::path& path, Diagnostics& diagnostics) : path_(path), diagnostics_(diagnostics) {}

  /// The list that the file is; nothing when it is empty, or wrong, which is reported.
  std::optional<YAML::Node> read();

  Position position(const YAML::Mark& mark) const { return {path_.string(), mark.line + 1, mark.column + 1}; }
  Position position(const YAML::Node& node) const { return position(node.Mark()); }
  /// A scalar with the position of its first character: behind the quote, or on the line below a block indicator.
  Text text(const YAML::Node& node) const;
  void error(const YAML::Node& node, std::string message) { diagnostics_.error(position(node), std::move(message)); }

  // What stands under a key; when it is of another kind, that is reported.

  std::optional<Text> scalar(const YAML::Node& node, const char* key);
  std::optional<bool> boolean(const YAML::Node& node, const char* key);
  /// Names in snake_case; `capital` allows the Array API's capital ones: Q, R, Vh.
  std::vector<Text> words(const YAML::Node& node, const char* key, bool capital = false);
  /// `[x: Tensor, axis: int = -1]`: the names and what stands behind them; a bare "*" makes what follows keyword-only.
  struct Argument {
    Text name;
    Text type;
    bool keyword_only;
  };
  std::vector<Argument> arguments(const YAML::Node& node, const char* key);
  /// YAML's core schema: plain words may be null, booleans and numbers; quoted ones are strings.
  Json to_json(const YAML::Node& node, const char* key);

  const std::filesystem::path path_;
  Diagnostics& diagnostics_;

 private:
  std::vector<std::string> lines_;
};

}  // namespace lento::opgen

// A JSON value that keeps the order of its keys: samples on their way from YAML to the tests.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lento::opgen {

class Json {
 public:
  enum class Type { null, literal, string, array, object };

  Json() = default;
  /// A number, true or false, written as it is.
  static Json literal(std::string text) { return Json(Type::literal, std::move(text)); }
  static Json string(std::string text) { return Json(Type::string, std::move(text)); }
  static Json boolean(bool value) { return literal(value ? "true" : "false"); }
  static Json array() { return Json(Type::array, {}); }
  static Json object() { return Json(Type::object, {}); }
  static Json strings(const std::vector<std::string>& values);

  Type type() const { return type_; }
  bool is_null() const { return type_ == Type::null; }
  const std::string& text() const { return text_; }
  const std::vector<std::pair<std::string, Json>>& members() const { return members_; }

  Json& add(Json value) {
    members_.emplace_back("", std::move(value));
    return *this;
  }
  Json& set(std::string key, Json value) {
    members_.emplace_back(std::move(key), std::move(value));
    return *this;
  }

  /// On one line where it fits into 120 columns, else one member a line.
  std::string dump(int indent = 0) const;

 private:
  Json(Type type, std::string text) : type_(type), text_(std::move(text)) {}
  std::string inline_text() const;

  Type type_ = Type::null;
  std::string text_;
  std::vector<std::pair<std::string, Json>> members_;
};

std::string json_quote(std::string_view text);

}  // namespace lento::opgen

#include "json.h"

#include <fmt/format.h>

namespace lento::opgen {

std::string json_quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

Json Json::strings(const std::vector<std::string>& values) {
  Json result = array();
  for (const std::string& value : values) result.add(string(value));
  return result;
}

std::string Json::inline_text() const {
  switch (type_) {
    case Type::null:
      return "null";
    case Type::literal:
      return text_;
    case Type::string:
      return json_quote(text_);
    case Type::array:
    case Type::object:
      break;
  }
  std::string out = type_ == Type::array ? "[" : "{";
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (i > 0) out += ", ";
    if (type_ == Type::object) out += json_quote(members_[i].first) + ": ";
    out += members_[i].second.inline_text();
  }
  return out + (type_ == Type::array ? "]" : "}");
}

std::string Json::dump(int indent) const {
  std::string flat = inline_text();
  if (type_ != Type::array && type_ != Type::object) return flat;
  if (members_.empty() || flat.size() + static_cast<std::size_t>(indent) <= 110) return flat;
  const std::string pad(static_cast<std::size_t>(indent) + 2, ' ');
  std::string out = type_ == Type::array ? "[\n" : "{\n";
  for (std::size_t i = 0; i < members_.size(); ++i) {
    out += pad;
    if (type_ == Type::object) out += json_quote(members_[i].first) + ": ";
    out += members_[i].second.dump(indent + 2);
    out += i + 1 < members_.size() ? ",\n" : "\n";
  }
  return out + std::string(static_cast<std::size_t>(indent), ' ') + (type_ == Type::array ? "]" : "}");
}

}  // namespace lento::opgen

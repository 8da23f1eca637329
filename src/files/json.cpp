#include "files/json.h"

#include "files/malformed.h"
#include "files/text.h"

#include <algorithm>

namespace lento::files {

void JsonReader::refuse(const std::string& what, std::size_t at) const {
  const std::string_view before = text_.substr(0, at);
  const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; };
  const auto character = at - static_cast<std::size_t>(std::ranges::count_if(before, continues));
  malformed("{} no JSON: {} at character {}", subject_, what, character);
}

void JsonReader::expect(std::string_view sign) {
  if (!scanner_.follows(sign)) refuse(fmt::format("{} is missing", sign), scanner_.at());
}

void JsonReader::expect_end() {
  scanner_.skip_spaces();
  if (!scanner_.at_end()) refuse("something follows its end,", scanner_.at());
}

std::string JsonReader::string() {
  if (!scanner_.next_is("\"")) refuse("a text is missing", scanner_.at());
  const std::size_t begin = scanner_.at();
  scanner_.advance(1);
  std::string out;
  while (true) {
    const std::string_view rest = scanner_.rest();
    const auto special = [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; };
    const auto plain = static_cast<std::size_t>(std::ranges::find_if(rest, special) - rest.begin());
    out += rest.substr(0, plain);
    scanner_.advance(plain);
    if (scanner_.at_end()) refuse("the end is missing of the text", begin);
    if (rest[plain] == '"') {
      scanner_.advance(1);
      return out;
    }
    if (rest[plain] != '\\') refuse("there is a control character", scanner_.at());
    escape(out, begin);
  }
}

/// Reads what a backslash begins.
void JsonReader::escape(std::string& out, std::size_t begin) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const std::size_t start = scanner_.at();
  scanner_.advance(1);
  if (scanner_.at_end()) refuse("the end is missing of the text", begin);
  const char letter = scanner_.rest()[0];
  scanner_.advance(1);
  if (const std::size_t known = kLetters.find(letter); known != kLetters.npos) {
    out += kMeanings[known];
    return;
  }
  if (letter != 'u') refuse("there is an unknown escape", start);
  char32_t code = four_digits(start);
  // What does not fit into four digits is written as two halves.
  if (code >= 0xd800 && code < 0xdc00 && scanner_.rest().starts_with("\\u")) {
    scanner_.advance(2);
    const char32_t second = four_digits(start);
    const bool fits = second >= 0xdc00 && second < 0xe000;
    code = fits ? 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00) : code;
  }
  if (code >= 0xd800 && code < 0xe000) {
    refuse(fmt::format("'{}' is half a character,", scanner_.since(start)), start);
  }
  append_utf8(out, code);
}

char32_t JsonReader::four_digits(std::size_t begin) {
  const std::string_view digits = scanner_.rest().substr(0, 4);
  char32_t code = 0;
  for (const char c : digits) {
    const std::size_t digit = std::string_view("0123456789abcdefABCDEF").find(c);
    if (digit == std::string_view::npos) refuse("there is an unknown escape", begin);
    code = code * 16 + static_cast<char32_t>(digit < 16 ? digit : digit - 6);
  }
  if (digits.size() < 4) refuse("there is an unknown escape", begin);
  scanner_.advance(4);
  return code;
}

void JsonReader::number() {
  const std::size_t begin = scanner_.at();
  const auto digits = [&](bool zeros) {
    const std::size_t count = scanner_.digits();
    if (count == 0 || (!zeros && count > 1 && scanner_.rest()[0] == '0')) refuse("a value is missing", begin);
    scanner_.advance(count);
  };
  const auto takes = [&](std::string_view signs) {
    const bool found = !scanner_.at_end() && signs.find(scanner_.rest()[0]) != signs.npos;
    if (found) scanner_.advance(1);
    return found;
  };
  takes("-");
  digits(false);
  if (takes(".")) digits(true);
  if (takes("eE")) {
    takes("+-");
    digits(true);
  }
}

std::string_view JsonReader::value(int depth) {
  constexpr int kDeepest = 32;
  scanner_.skip_spaces();
  const std::size_t begin = scanner_.at();
  if (depth > kDeepest) refuse("lists are too deep", begin);
  if (scanner_.next_is("\"")) {
    string();
  } else if (scanner_.next_is("{")) {
    object([&](const std::string&) { value(depth + 1); });
  } else if (scanner_.follows("[")) {
    if (!scanner_.follows("]")) {
      value(depth + 1);
      while (!scanner_.follows("]")) {
        expect(",");
        value(depth + 1);
      }
    }
  } else if (!scanner_.follows("true") && !scanner_.follows("false") && !scanner_.follows("null")) {
    number();
  }
  return scanner_.since(begin);
}

std::string_view JsonReader::flat_object(std::size_t longest) {
  if (!scanner_.next_is("{")) return {};
  const std::string_view found = scanner_.rest().substr(0, longest);
  const std::size_t length = found.find('}') + 1;  // 0 when there is none
  scanner_.advance(length);
  return found.substr(0, length);
}

void append_json(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    constexpr std::string_view kSpecial = "\"\\\b\f\n\r\t";
    constexpr std::string_view kLetters = "\"\\bfnrt";
    if (const std::size_t known = kSpecial.find(c); known != kSpecial.npos) {
      out += '\\';
      out += kLetters[known];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace lento::files

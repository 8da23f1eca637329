#include "ir/lexer.h"

#include "base/fail.h"
#include "ir/print.h"

#include <algorithm>

namespace lento {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word_part(char c) { return is_letter(c) || is_digit(c); }
bool is_file_part(char c) { return is_word_part(c) || std::string_view(".-+<>").find(c) != std::string_view::npos; }

/// A token as it appears in a message: short and on one line.
std::string shown(const Token& token) {
  if (token.kind == Token::Kind::end) return "the end of the text";
  constexpr std::size_t kLongest = 40;
  std::string quoted;
  append_quoted(quoted, token.text.substr(0, kLongest));
  quoted.front() = quoted.back() = '\'';
  return token.text.size() > kLongest ? quoted + "…" : quoted;
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void Lexer::fail_at(std::size_t offset, std::string_view message) const {
  const std::string_view before = text_.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  fail<ValueError>("line {}, column {}: {}", line, offset - line_start + 1, message);
}

void Lexer::fail_expected(std::string_view what) const {
  fail_at(next_.offset, fmt::format("expected {}, found {}", what, shown(next_)));
}

Token Lexer::take() {
  const Token token = next_;
  advance();
  return token;
}

bool Lexer::take_if(char c) {
  if (!next_.is(c)) return false;
  advance();
  return true;
}

void Lexer::expect(char c, std::string_view what) {
  if (!take_if(c)) fail_expected(fmt::format("'{}' {}", c, what));
}

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else {
      return;
    }
  }
}

std::size_t Lexer::number_end(std::size_t at) const {
  if (text_[at] == '-' || text_[at] == '+') ++at;
  while (at < text_.size()) {
    const char c = text_[at];
    const bool exponent_sign = (c == '-' || c == '+') && (text_[at - 1] == 'e' || text_[at - 1] == 'E');
    if (!is_word_part(c) && c != '.' && !exponent_sign) break;
    ++at;
  }
  return at;
}

std::size_t Lexer::string_end(std::size_t at) const {
  for (std::size_t i = at + 1; i < text_.size(); ++i) {
    if (text_[i] == '\\') {
      ++i;
    } else if (text_[i] == '"') {
      return i + 1;
    } else if (text_[i] == '\n') {
      break;
    }
  }
  fail_at(at, "the string does not end on its line");
}

void Lexer::advance() {
  skip_blanks();
  next_ = {Token::Kind::end, {}, at_};
  if (at_ == text_.size()) return;
  const char c = text_[at_];
  std::size_t end = at_ + 1;
  if (is_letter(c)) {
    next_.kind = Token::Kind::word;
    while (end < text_.size() && is_word_part(text_[end])) ++end;
  } else if (is_digit(c) || c == '-' || c == '+' || c == '.') {
    next_.kind = Token::Kind::number;
    end = number_end(at_);
  } else if (c == '%' || c == '$') {
    next_.kind = c == '%' ? Token::Kind::value : Token::Kind::scalar;
    while (end < text_.size() && is_word_part(text_[end])) ++end;
  } else if (c == '"') {
    next_.kind = Token::Kind::string;
    end = string_end(at_);
  } else {
    next_.kind = Token::Kind::punctuation;
  }
  next_.text = text_.substr(at_, end - at_);
  at_ = end;
}

std::string Lexer::take_file() {
  // The token ahead was read as something else: go back to where it starts.
  at_ = next_.offset;
  if (at_ < text_.size() && text_[at_] != '"') {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_file_part(text_[at_])) ++at_;
    if (at_ == start) fail_expected("a file name");
    const std::string file(text_.substr(start, at_ - start));
    advance();
    return file;
  }
  advance();
  if (next_.kind != Token::Kind::string) fail_expected("a file name");
  return unquote(take());
}

std::string Lexer::unquote(const Token& token) const {
  const std::string_view inside = token.text.substr(1, token.text.size() - 2);
  std::string result;
  result.reserve(inside.size());
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\') {
      result += inside[i];
      continue;
    }
    const std::size_t offset = token.offset + 1 + i;
    const char c = inside[++i];  // the lexer has seen that a character follows
    if (c == '"' || c == '\\') {
      result += c;
    } else if (c == 'n') {
      result += '\n';
    } else if (c == 't') {
      result += '\t';
    } else if (c == 'x' && i + 2 < inside.size() && hex_digit(inside[i + 1]) >= 0 && hex_digit(inside[i + 2]) >= 0) {
      result += static_cast<char>(hex_digit(inside[i + 1]) * 16 + hex_digit(inside[i + 2]));
      i += 2;
    } else {
      fail_at(offset, R"(unknown escape in a string: there are \\, \", \n, \t and \xNN)");
    }
  }
  return result;
}

}  // namespace lento

// Tokens of the graph's text form. Line breaks are spaces; # starts a comment. Tokens are views into the text: nothing
// is copied except the inside of quoted strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lento {

struct Token {
  enum class Kind : std::uint8_t {
    end,
    word,         // multiply, float32, true, inf
    number,       // 3, -0.5, 1e+300, 0x7ff8000000000000, -inf
    value,        // %0, %in1
    scalar,       // $0
    string,       // "model/layer1"
    punctuation,  // one character
  };
  Kind kind = Kind::end;
  std::string_view text;   // with its sign, % or quotes
  std::size_t offset = 0;  // in the whole text

  bool is(char c) const { return kind == Kind::punctuation && text[0] == c; }
  bool is_word(std::string_view word) const { return kind == Kind::word && text == word; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { advance(); }

  /// The token that comes next.
  const Token& peek() const { return next_; }
  /// Takes it.
  Token take();
  /// Takes the next token if it is this character.
  bool take_if(char c);
  /// Takes this character or fails; `what` says where it is missing: "after the operands".
  void expect(char c, std::string_view what);

  /// A file name, quoted or bare, directly after the '@' that was just taken. Bare names may hold what words may not:
  /// train.py, <stdin>.
  std::string take_file();
  /// The contents of a string token.
  std::string unquote(const Token& token) const;

  /// Throws ValueError "line 3, column 7: …". Lines and columns count from 1, columns in bytes.
  [[noreturn]] void fail_at(std::size_t offset, std::string_view message) const;
  /// Throws `expected <what>, found '<token>'`.
  [[noreturn]] void fail_expected(std::string_view what) const;

 private:
  void advance();
  void skip_blanks();
  std::size_t number_end(std::size_t at) const;
  std::size_t string_end(std::size_t at) const;

  std::string_view text_;
  std::size_t at_ = 0;  // behind the token in next_
  Token next_;
};

}  // namespace lento

// Walks over a text sign by sign: what the readers of JSON and of NumPy's headers have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lento::files {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::size_t at() const { return at_; }
  /// What was not read yet.
  std::string_view rest() const { return text_.substr(at_); }
  /// What was read since.
  std::string_view since(std::size_t begin) const { return text_.substr(begin, at_ - begin); }
  void advance(std::size_t bytes) { at_ += bytes; }
  bool at_end() const { return at_ == text_.size(); }

  void skip_spaces() {
    while (!at_end() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  /// Whether this comes next, behind spaces; nothing is read then but the spaces.
  bool next_is(std::string_view word) {
    skip_spaces();
    return rest().starts_with(word);
  }
  /// Reads it if it comes next.
  bool follows(std::string_view word) {
    if (!next_is(word)) return false;
    advance(word.size());
    return true;
  }
  /// How many digits come next.
  std::size_t digits() const {
    std::size_t count = 0;
    while (count < rest().size() && rest()[count] >= '0' && rest()[count] <= '9') ++count;
    return count;
  }
  /// Reads a number of digits without sign and leading zeros that fits into 63 bits; nothing if none comes next.
  std::optional<std::int64_t> whole_number() {
    skip_spaces();
    const std::size_t count = digits();
    if (count == 0 || count > 19 || (count > 1 && rest()[0] == '0')) return std::nullopt;
    std::uint64_t value = 0;  // 19 digits fit
    for (const char digit : rest().substr(0, count)) value = value * 10 + static_cast<std::uint64_t>(digit - '0');
    if (value > INT64_MAX) return std::nullopt;
    advance(count);
    return static_cast<std::int64_t>(value);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace lento::files

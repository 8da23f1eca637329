// JSON as the headers of .safetensors files have it. Read piece by piece, by who knows what must come next: nothing is
// built of what is not asked for, so that a text that nests or goes on for ever costs neither memory nor time.
#pragma once

#include "files/scanner.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace lento::files {

/// Everything throws Malformed: "{subject} no JSON: , is missing at character 19".
class JsonReader {
 public:
  /// The text must be UTF-8, and stay.
  JsonReader(std::string_view text, std::string subject) : text_(text), scanner_(text), subject_(std::move(subject)) {}

  /// Reads an object; `field(name)` reads a value.
  template <class Field>
  void object(const Field& field) {
    expect("{");
    if (scanner_.follows("}")) return;
    while (true) {
      const std::string name = string();
      expect(":");
      field(name);
      if (scanner_.follows("}")) return;
      expect(",");
    }
  }
  bool next_is(std::string_view sign) { return scanner_.next_is(sign); }
  std::string string();
  /// Reads any value; what was read.
  std::string_view value(int depth = 0);
  /// Reads an object without objects inside of at most `longest` bytes; what was read. Empty when none is there.
  std::string_view flat_object(std::size_t longest);
  void expect_end();

 private:
  void expect(std::string_view sign);
  void escape(std::string& out, std::size_t begin);
  char32_t four_digits(std::size_t begin);
  void number();
  [[noreturn]] void refuse(const std::string& what, std::size_t at) const;

  std::string_view text_;
  Scanner scanner_;
  std::string subject_;
};

/// Appends the text in quotes, as Python's json module writes it with ensure_ascii=False.
void append_json(std::string& out, std::string_view text);

}  // namespace lento::files

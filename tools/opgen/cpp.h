// How the catalogue's words look in C++, and a writer for readable code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "model.h"

namespace lento::opgen {

/// Collects lines; knows indentation and the 120-column limit.
class Writer {
 public:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    add(fmt::format(format, std::forward<Args>(args)...));
  }
  void line() { text_ += '\n'; }
  /// Adds a line as it is, with the current indentation.
  void add(std::string_view line);
  /// `head` + comma-separated `items` + `tail`, broken at commas and aligned behind `head` when it is too long.
  void wrapped(std::string_view head, const std::vector<std::string>& items, std::string_view tail);
  /// A function whose body is one statement, given in the same three parts: on one line where that fits.
  void function(std::string_view head, const std::vector<std::string>& parameters, std::string_view tail,
                std::string_view call, const std::vector<std::string>& arguments, std::string_view end);
  /// `head` + items + `tail`, one item a line and aligned when it is too long: how nested lists are laid out.
  void rows(std::string_view head, const std::vector<std::string>& items, std::string_view tail);
  /// True when the line fits behind the current indentation.
  bool fits(std::string_view line) const;
  /// Text as comment lines, each starting with `prefix` ("/// "); its own line breaks are kept.
  void comment(std::string_view prefix, std::string_view text);
  void indent() { indent_ += 2; }
  void dedent() { indent_ -= 2; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::size_t indent_ = 0;
};

/// The texts that `make` gives for each item.
template <class Items, class Make>
std::vector<std::string> mapped(const Items& items, Make make) {
  std::vector<std::string> result;
  result.reserve(items.size());
  for (const auto& item : items) result.push_back(make(item));
  return result;
}

/// The first lines of a generated file: what it is, and that it is generated.
std::string file_header(std::string_view about);

std::string camel(std::string_view snake);             ///< take_along_axis → TakeAlongAxis
std::string cpp_identifier(std::string_view word);     ///< a word that is no C++ keyword: `int` → int_
std::string cpp_string(std::string_view text);         ///< a string literal
std::string cpp_dtype(std::string_view name);          ///< bool → DType::bool_
std::string cpp_element_type(std::string_view dtype);  ///< float32 → float, complex64 → std::complex<float>
std::string cpp_dtype_set(const DtypeRule& rule);      ///< kFloating | kComplex

std::string param_type(const Arg& arg);                        ///< const std::optional<Ints>&, of a body
std::string value_type(const ArgType& type);                   ///< std::optional<Ints>
std::string cpp_default(const Arg& arg);                       ///< std::nullopt
std::string return_type(const Entry& entry);                   ///< Tensor, TopkResult, std::vector<Tensor>
std::string attrs_type(const Entry& entry);                    ///< TakeAxisAttrs
std::string member_type(const Arg& arg);                       ///< of an attribute in its struct; choices: Mode
std::string choices_name(const Entry& entry, const Arg& arg);  ///< kPutAlongAxisModes: the constant with its words

/// True when the function's last parameter is the call site: always, except when an Operand that carries it comes
/// first.
bool takes_site(const Entry& entry);

/// Parameters of the public function; `declare` adds defaults. Without the first one for a method.
std::vector<std::string> public_parameters(const Entry& entry, bool declare, bool method = false);

/// Parameters of the body of a composite: as the public function's, without defaults and site.
std::vector<std::string> composite_parameters(const Entry& entry);
/// The declaration of that body, in namespace lento::composite.
void declare_composite(Writer& w, const Entry& entry);

/// Which of `count` files a name goes to: depends on the name alone, so that adding an op changes one file.
std::size_t shard_of(std::string_view name, std::size_t count);

inline constexpr std::size_t kShards = 4;

}  // namespace lento::opgen

#include "formula.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "expression.h"

namespace lento::opgen {

namespace {

struct Malformed {};

class Parser {
 public:
  Parser(const Text& text, const std::string& key, Diagnostics& diagnostics)
      : text_(text), key_(key), diagnostics_(diagnostics), tokens_(tokenize(text, diagnostics)) {}

  std::optional<Formula> run() {
    if (tokens_.empty()) {
      diagnostics_.error(text_.at, fmt::format("empty expression in '{}'", key_));
      return {};
    }
    try {
      Formula result = conditional();
      if (next_ < tokens_.size()) wrong();
      return result;
    } catch (const Malformed&) {
      return {};
    }
  }

 private:
  using Kind = Formula::Kind;

  [[noreturn]] void wrong() {
    const bool end = next_ >= tokens_.size();
    diagnostics_.error(position_inside(text_, end ? text_.value.size() : tokens_[next_].offset),
                       end ? fmt::format("'{}' ends too early", key_)
                           : fmt::format("'{}' does not belong here in '{}'", tokens_[next_].text, key_));
    throw Malformed{};
  }

  bool at(std::string_view word, std::size_t ahead = 0) const {
    const std::size_t i = next_ + ahead;
    return i < tokens_.size() && tokens_[i].kind != Token::Kind::string && tokens_[i].text == word;
  }
  bool take(std::string_view word) {
    if (!at(word)) return false;
    ++next_;
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) wrong();
  }
  Formula make(Kind kind, std::string text, std::vector<Formula> parts, const Position& at) const {
    Formula formula;
    formula.kind = kind;
    formula.text = std::move(text);
    formula.parts = std::move(parts);
    formula.at = at;
    return formula;
  }
  Position here() const {
    return position_inside(text_, next_ < tokens_.size() ? tokens_[next_].offset : text_.value.size());
  }

  Formula conditional() {
    const Position start = here();
    Formula value = any();
    if (!take("if")) return value;
    std::vector<Formula> parts;
    parts.push_back(std::move(value));
    parts.push_back(any());
    if (take("else")) parts.push_back(conditional());
    return make(Kind::conditional, "", std::move(parts), start);
  }

  Formula any() {
    Formula left = all();
    while (take("or")) left = binary("or", std::move(left), all());
    return left;
  }
  Formula all() {
    Formula left = negated();
    while (take("and")) left = binary("and", std::move(left), negated());
    return left;
  }
  Formula negated() {
    const Position start = here();
    if (take("not")) {
      std::vector<Formula> parts;
      parts.push_back(negated());
      return make(Kind::negated, "", std::move(parts), start);
    }
    return comparison();
  }
  Formula comparison() {
    Formula left = sum();
    for (const char* op : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (take(op)) return binary(op, std::move(left), sum());
    }
    return left;
  }
  Formula sum() {
    Formula left = product();
    while (at("+") || at("-")) {
      const std::string op = tokens_[next_++].text;
      left = binary(op, std::move(left), product());
    }
    return left;
  }
  Formula product() {
    Formula left = single();
    while (at("*") || (at("/") && at("/", 1))) {
      const std::string op = at("*") ? "*" : "//";
      next_ += op.size();
      left = binary(op, std::move(left), single());
    }
    return left;
  }
  Formula binary(const std::string& op, Formula left, Formula right) const {
    const Position start = left.at;
    std::vector<Formula> parts;
    parts.push_back(std::move(left));
    parts.push_back(std::move(right));
    return make(Kind::binary, op, std::move(parts), start);
  }

  Formula single() {
    if (next_ >= tokens_.size()) wrong();
    const Position start = here();
    const Token& token = tokens_[next_];
    if (token.kind == Token::Kind::number) return make(Kind::number, tokens_[next_++].text, {}, start);
    if (token.kind == Token::Kind::string) {
      const std::string& quoted = tokens_[next_++].text;
      return make(Kind::string, quoted.substr(1, quoted.size() - 2), {}, start);
    }
    if (take("(")) return tuple(start);
    static const std::vector<std::string> kWords = {"if", "else", "and", "or", "not"};
    if (token.kind != Token::Kind::name || std::find(kWords.begin(), kWords.end(), token.text) != kWords.end()) wrong();
    std::string name = token.text;
    ++next_;
    while (at(".") && next_ + 1 < tokens_.size() && tokens_[next_ + 1].kind == Token::Kind::name) {
      name += "." + tokens_[next_ + 1].text;
      next_ += 2;
    }
    if (!take("(")) return make(Kind::name, name, {}, start);
    Formula call = make(Kind::call, name, {}, start);
    while (!take(")")) {
      std::string keyword;
      if (at("=", 1) && tokens_[next_].kind == Token::Kind::name) {
        keyword = tokens_[next_].text;
        next_ += 2;
      }
      call.keywords.push_back(keyword);
      call.parts.push_back(conditional());
      if (!take(",") && !at(")")) wrong();
    }
    return call;
  }

  /// Behind "(": a tuple, or one formula in parentheses.
  Formula tuple(const Position& start) {
    Formula result = make(Kind::tuple, "", {}, start);
    bool comma = false;
    while (!take(")")) {
      const Position item = here();
      if (take("*")) {
        std::vector<Formula> parts;
        parts.push_back(single());
        result.parts.push_back(make(Kind::spread, "", std::move(parts), item));
      } else {
        result.parts.push_back(conditional());
      }
      if (take(",")) {
        comma = true;
      } else if (!at(")")) {
        wrong();
      }
    }
    if (result.parts.size() == 1 && !comma && result.parts[0].kind != Kind::spread) {
      result.kind = Kind::parentheses;
    }
    return result;
  }

  const Text& text_;
  const std::string& key_;
  Diagnostics& diagnostics_;
  const std::vector<Token> tokens_;
  std::size_t next_ = 0;
};

}  // namespace

std::optional<Formula> parse_formula(const Text& text, const std::string& key, Diagnostics& diagnostics) {
  const std::size_t errors = diagnostics.size();
  std::optional<Formula> formula = Parser(text, key, diagnostics).run();
  return diagnostics.size() == errors ? formula : std::nullopt;
}

void visit_formula(const Formula& formula, const std::function<void(const Formula&)>& visit) {
  visit(formula);
  for (const Formula& part : formula.parts) visit_formula(part, visit);
}

std::string write_formula(const Formula& formula, const FormulaWords& words) {
  using Kind = Formula::Kind;
  const auto part = [&](std::size_t i) { return write_formula(formula.parts[i], words); };
  std::vector<std::string> parts;
  switch (formula.kind) {
    case Kind::number:
      return formula.text;
    case Kind::string:
      return fmt::format("\"{}\"", formula.text);
    case Kind::name:
      return words.name(formula);
    case Kind::call:
      return words.call(formula);
    case Kind::parentheses:
      return fmt::format("({})", part(0));
    case Kind::spread:
      return fmt::format("{}{}", words.python ? "*" : "", part(0));
    case Kind::tuple: {
      for (std::size_t i = 0; i < formula.parts.size(); ++i) parts.push_back(part(i));
      if (words.python) return fmt::format("({}{})", fmt::join(parts, ", "), parts.size() == 1 ? "," : "");
      const bool spreads = std::any_of(formula.parts.begin(), formula.parts.end(),
                                       [](const Formula& each) { return each.kind == Kind::spread; });
      return spreads ? fmt::format("joined({})", fmt::join(parts, ", "))
                     : fmt::format("{{{}}}", fmt::join(parts, ", "));
    }
    case Kind::negated:
      if (words.python) return fmt::format("not {}", part(0));
      return formula.parts[0].kind == Kind::name ? fmt::format("!{}", part(0)) : fmt::format("!({})", part(0));
    case Kind::conditional: {
      const std::string otherwise = formula.parts.size() > 2 ? part(2) : words.python ? "None" : "std::nullopt";
      return words.python ? fmt::format("{} if {} else {}", part(0), part(1), otherwise)
                          : fmt::format("{} ? {} : {}", part(1), part(0), otherwise);
    }
    case Kind::binary: {
      std::string op = formula.text;
      if (!words.python) op = op == "//" ? "/" : op == "and" ? "&&" : op == "or" ? "||" : op;
      return fmt::format("{} {} {}", part(0), op, part(1));
    }
  }
  return "";
}

}  // namespace lento::opgen

#include "expression.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

#include "cpp.h"

namespace lento::opgen {

namespace {

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool continues_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Functions and types of the standard library that scalar expressions use.
const std::vector<std::string> kStandardNames = {"abs",
                                                 "acos",
                                                 "acosh",
                                                 "arg",
                                                 "asin",
                                                 "asinh",
                                                 "atan",
                                                 "atan2",
                                                 "atanh",
                                                 "bit_cast",
                                                 "cbrt",
                                                 "ceil",
                                                 "complex",
                                                 "conj",
                                                 "copysign",
                                                 "cos",
                                                 "cosh",
                                                 "cyl_bessel_i",
                                                 "cyl_bessel_j",
                                                 "erf",
                                                 "erfc",
                                                 "exp",
                                                 "exp2",
                                                 "expm1",
                                                 "fabs",
                                                 "fdim",
                                                 "floor",
                                                 "fma",
                                                 "fmax",
                                                 "fmin",
                                                 "fmod",
                                                 "frexp",
                                                 "hypot",
                                                 "ilogb",
                                                 "imag",
                                                 "isfinite",
                                                 "isinf",
                                                 "isnan",
                                                 "isnormal",
                                                 "ldexp",
                                                 "lgamma",
                                                 "log",
                                                 "log10",
                                                 "log1p",
                                                 "log2",
                                                 "logb",
                                                 "make_unsigned_t",
                                                 "max",
                                                 "min",
                                                 "nearbyint",
                                                 "nextafter",
                                                 "norm",
                                                 "numbers",
                                                 "numeric_limits",
                                                 "polar",
                                                 "pow",
                                                 "proj",
                                                 "real",
                                                 "remainder",
                                                 "rint",
                                                 "round",
                                                 "scalbn",
                                                 "signbit",
                                                 "sin",
                                                 "sinh",
                                                 "size_t",
                                                 "sqrt",
                                                 "tan",
                                                 "tanh",
                                                 "tgamma",
                                                 "trunc",
                                                 "int8_t",
                                                 "int16_t",
                                                 "int32_t",
                                                 "int64_t",
                                                 "uint8_t",
                                                 "uint16_t",
                                                 "uint32_t",
                                                 "uint64_t",
                                                 "nullopt",
                                                 "vector",
                                                 "optional",
                                                 "move",
                                                 "clamp",
                                                 "popcount",
                                                 "midpoint",
                                                 "lerp",
                                                 "riemann_zeta",
                                                 "beta",
                                                 "string_view"};

const std::set<std::string> kLanguageWords = {
    "true",   "false", "nullptr", "static_cast", "int",    "long", "float", "double", "bool", "auto",     "unsigned",
    "sizeof", "const", "if",      "else",        "return", "not",  "and",   "or",     "char", "constexpr"};

/// Types of the public API that compositions may name.
const std::set<std::string> kApiNames = {
    "Tensor",          "Operand", "Scalar",      "Ints",       "Shape",         "DType",         "Device",
    "Generator",       "Slice",   "Index",       "ellipsis",   "newaxis",       "kDefaultFloat", "kDefaultInt",
    "kDefaultComplex", "promote", "is_floating", "is_complex", "is_integer",    "is_bool",       "real_type",
    "complex_type",    "lento",   "rules",       "composite",  "element_count", "name"};

/// What a Tensor has besides the methods of the catalogue.
const std::set<std::string> kTensorMembers = {
    "shape", "dtype",    "rank", "size",  "device", "real",  "imag",  "is_tensor", "tensor", "scalar", "has_value",
    "value", "value_or", "to",   "begin", "end",    "empty", "slice", "back",      "front",  "data"};

/// Words of derivative expressions beside arguments and ops.
const std::set<std::string> kVjpNames = {"grad", "result", "unbroadcast", "zero"};

bool names_result(const Entry& entry, const std::string& name) {
  if (std::find(entry.results.begin(), entry.results.end(), name) != entry.results.end()) return true;
  return name.starts_with("grad_") &&
         std::find(entry.results.begin(), entry.results.end(), name.substr(5)) != entry.results.end();
}

class Checker {
 public:
  Checker(const Text& expression, ExpressionKind kind, const Entry& entry, const Catalogue& catalogue,
          Diagnostics& diagnostics)
      : expression_(expression), kind_(kind), entry_(entry), catalogue_(catalogue), diagnostics_(diagnostics) {}

  void run() {
    tokens_ = tokenize(expression_, diagnostics_);
    if (tokens_.empty()) {
      diagnostics_.error(expression_.at, fmt::format("empty expression in '{}'", key()));
      return;
    }
    check_brackets();
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind == Token::Kind::name) check_name(i);
    }
    check_ends();
  }

 private:
  const char* key() const {
    return kind_ == ExpressionKind::compute ? "compute" : kind_ == ExpressionKind::compose ? "compose" : "vjp";
  }
  bool punctuation(std::size_t i, std::string_view text) const {
    return i < tokens_.size() && tokens_[i].kind == Token::Kind::punctuation && tokens_[i].text == text;
  }
  void error(const Token& token, std::string message) {
    diagnostics_.error(position_inside(expression_, token.offset), std::move(message));
  }

  void check_brackets() {
    std::vector<const Token*> open;
    for (const Token& token : tokens_) {
      if (token.kind != Token::Kind::punctuation) continue;
      if (token.text == "(" || token.text == "[" || token.text == "{") open.push_back(&token);
      if (token.text == ")" || token.text == "]" || token.text == "}") {
        const std::string wanted = token.text == ")" ? "(" : token.text == "]" ? "[" : "{";
        if (open.empty() || open.back()->text != wanted) {
          error(token, fmt::format("unbalanced '{}' in '{}'", token.text, key()));
          return;
        }
        open.pop_back();
      }
    }
    if (!open.empty()) error(*open.back(), fmt::format("unbalanced '{}' in '{}'", open.back()->text, key()));
  }

  /// An expression neither starts nor ends with a binary operator, and two operands never stand side by side.
  void check_ends() {
    static const std::set<std::string> kBinary = {
        "*", "/", "%", "<", ">", "<=", ">=", "==", "!=", "&&", "||", "^", "|", "?", ":", ",", "="};
    const Token& first = tokens_.front();
    const Token& last = tokens_.back();
    if (first.kind == Token::Kind::punctuation && kBinary.contains(first.text)) {
      error(first, fmt::format("'{}' starts with the operator '{}'", key(), first.text));
    }
    if (last.kind == Token::Kind::punctuation &&
        (kBinary.contains(last.text) || last.text == "+" || last.text == "-")) {
      error(last, fmt::format("'{}' ends with the operator '{}'", key(), last.text));
    }
    for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
      const Token& a = tokens_[i];
      const Token& b = tokens_[i + 1];
      const bool ends_operand = a.kind == Token::Kind::number ||
                                (a.kind == Token::Kind::name && !kLanguageWords.contains(a.text)) || a.text == ")" ||
                                a.text == "]";
      const bool starts_operand =
          b.kind == Token::Kind::number || (b.kind == Token::Kind::name && !kLanguageWords.contains(b.text));
      if (ends_operand && starts_operand && kind_ != ExpressionKind::compose) {
        error(b, fmt::format("an operator is missing before '{}' in '{}'", b.text, key()));
      }
    }
  }

  void check_name(std::size_t i) {
    const Token& token = tokens_[i];
    if (i > 0 && (punctuation(i - 1, ".") || punctuation(i - 1, "->"))) {
      check_member(token);
      return;
    }
    if (i > 0 && punctuation(i - 1, "::")) {
      check_qualified(i);
      return;
    }
    const std::string& name = token.text;
    if (kLanguageWords.contains(name) || name == "std" || entry_.find_arg(name) != nullptr) return;
    // An argument that is passed by name, or a designated member: `.axis = 1` is handled above.
    const bool called = punctuation(i + 1, "(") || punctuation(i + 1, "<");
    if (kind_ == ExpressionKind::compute) {
      if (name == "T" || name == "S" || name == "math") return;
      static const std::set<std::string> kPlain = {"int8_t",  "int16_t",  "int32_t",  "int64_t",
                                                   "uint8_t", "uint16_t", "uint32_t", "uint64_t"};
      if (kPlain.contains(name)) return;
      if (std::find(catalogue_.math_names.begin(), catalogue_.math_names.end(), name) != catalogue_.math_names.end())
        return;
    } else {
      if (kVjpNames.contains(name) && kind_ == ExpressionKind::vjp) return;
      if (kind_ == ExpressionKind::vjp && names_result(entry_, name)) return;
      if (kApiNames.contains(name) || std::find(kNamespaces.begin(), kNamespaces.end(), name) != kNamespaces.end() ||
          name == "prim")
        return;
      if (called && catalogue_.find(name) != nullptr) return;
    }
    error(token, fmt::format("unknown name '{}' in '{}'{}", name, key(), suggestion(name, known(called))));
  }

  void check_member(const Token& token) {
    if (kind_ != ExpressionKind::vjp) return;  // the compiler checks the others
    if (kTensorMembers.contains(token.text)) return;
    std::vector<std::string> words(kTensorMembers.begin(), kTensorMembers.end());
    for (const Entry& entry : catalogue_.entries) {
      if (entry.method == token.text) return;
      if (!entry.method.empty()) words.push_back(entry.method);
    }
    error(token, fmt::format("unknown member '{}' in '{}'{}", token.text, key(), suggestion(token.text, words)));
  }

  void check_qualified(std::size_t i) {
    const Token& token = tokens_[i];
    if (i < 2 || tokens_[i - 2].kind != Token::Kind::name)
      return;  // behind template arguments: std::numeric_limits<T>::max
    const std::string& scope = tokens_[i - 2].text;
    if (scope == "std") {
      if (std::find(kStandardNames.begin(), kStandardNames.end(), token.text) != kStandardNames.end()) return;
      error(token,
            fmt::format("unknown name 'std::{}' in '{}'{}", token.text, key(), suggestion(token.text, kStandardNames)));
      return;
    }
    if (scope == "math") {
      if (std::find(catalogue_.math_names.begin(), catalogue_.math_names.end(), token.text) !=
          catalogue_.math_names.end())
        return;
      error(token, fmt::format("unknown name 'math::{}' in '{}'{}", token.text, key(),
                               suggestion(token.text, catalogue_.math_names)));
      return;
    }
    const bool space = std::find(kNamespaces.begin(), kNamespaces.end(), scope) != kNamespaces.end() || scope == "prim";
    if (!space || !punctuation(i + 1, "(") || catalogue_.find_in(scope, token.text) != nullptr) return;
    std::vector<std::string> words;
    for (const Entry& entry : catalogue_.entries) {
      if (entry.space == (scope == "lento" ? "" : scope)) words.push_back(entry.name);
    }
    error(token, fmt::format("namespace '{}' has no op '{}'{}", scope, token.text, suggestion(token.text, words)));
  }

  std::vector<std::string> known(bool called) const {
    std::vector<std::string> words = mapped(entry_.args, [](const Arg& arg) { return arg.name; });
    if (kind_ == ExpressionKind::compute) {
      words.insert(words.end(), catalogue_.math_names.begin(), catalogue_.math_names.end());
      return words;
    }
    if (kind_ == ExpressionKind::vjp) {
      words.insert(words.end(), kVjpNames.begin(), kVjpNames.end());
      words.insert(words.end(), entry_.results.begin(), entry_.results.end());
    }
    if (called) {
      for (const Entry& entry : catalogue_.entries) words.push_back(entry.name);
    }
    return words;
  }

  const Text& expression_;
  const ExpressionKind kind_;
  const Entry& entry_;
  const Catalogue& catalogue_;
  Diagnostics& diagnostics_;
  std::vector<Token> tokens_;
};

}  // namespace

Position position_inside(const Text& expression, std::size_t offset) {
  Position at = expression.at;
  for (std::size_t i = 0; i < offset && i < expression.value.size(); ++i) {
    if (expression.value[i] == '\n') {
      ++at.line;
      at.column = expression.at.column;
    } else {
      ++at.column;
    }
  }
  return at;
}

std::vector<Token> tokenize(const Text& expression, Diagnostics& diagnostics) {
  static const std::vector<std::string> kOperators = {
      "<<=", ">>=", "::", "->", "<=", ">=", "==", "!=", "&&", "||", "<<", ">>"};
  const std::string& text = expression.value;
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    Token::Kind kind = Token::Kind::punctuation;
    if (starts_name(c)) {
      kind = Token::Kind::name;
      while (end < text.size() && continues_name(text[end])) ++end;
    } else if (std::isdigit(static_cast<unsigned char>(c)) ||
               (c == '.' && end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])))) {
      kind = Token::Kind::number;
      // A preprocessing number: digits, letters, points, quotes, and signs behind an exponent.
      while (end < text.size() &&
             (continues_name(text[end]) || text[end] == '.' || text[end] == '\'' ||
              ((text[end] == '+' || text[end] == '-') &&
               (text[end - 1] == 'e' || text[end - 1] == 'E' || text[end - 1] == 'p' || text[end - 1] == 'P')))) {
        ++end;
      }
    } else if (c == '"' || c == '\'') {
      kind = Token::Kind::string;
      while (end < text.size() && text[end] != c) end += text[end] == '\\' ? 2 : 1;
      if (end >= text.size()) {
        diagnostics.error(position_inside(expression, i), "unterminated string in an expression");
        return tokens;
      }
      ++end;
    } else {
      if (std::string_view("+-*/%<>=!&|^~?:,.()[]{};").find(c) == std::string_view::npos) {
        diagnostics.error(position_inside(expression, i), fmt::format("unexpected character '{}' in an expression", c));
        return tokens;
      }
      for (const std::string& op : kOperators) {
        if (text.compare(i, op.size(), op) == 0) {
          end = i + op.size();
          break;
        }
      }
    }
    tokens.push_back({kind, text.substr(i, end - i), i});
    i = end;
  }
  return tokens;
}

void check_expression(const Text& expression, ExpressionKind kind, const Entry& entry, const Catalogue& catalogue,
                      Diagnostics& diagnostics) {
  Checker(expression, kind, entry, catalogue, diagnostics).run();
}

std::string qualify_ops(const std::string& expression, const Entry& entry, const Catalogue& catalogue) {
  Diagnostics ignored;
  const std::vector<Token> tokens = tokenize({expression, {}}, ignored);
  std::string out;
  std::size_t copied = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    const bool free = i == 0 || (tokens[i - 1].text != "." && tokens[i - 1].text != "::" && tokens[i - 1].text != "->");
    if (token.kind != Token::Kind::name || !free || i + 1 == tokens.size() || entry.find_arg(token.text) != nullptr)
      continue;
    std::string prefix;
    if (tokens[i + 1].text == "(") {
      if (const Entry* op = catalogue.find(token.text))
        prefix = op->space.empty() ? "lento::" : "lento::" + op->space + "::";
    } else if (tokens[i + 1].text == "::" &&
               (token.text == "prim" ||
                std::find(kNamespaces.begin(), kNamespaces.end(), token.text) != kNamespaces.end()) &&
               token.text != "lento") {
      prefix = "lento::";
    }
    if (prefix.empty()) continue;
    out += expression.substr(copied, token.offset - copied) + prefix;
    copied = token.offset;
  }
  out += expression.substr(copied);
  std::replace(out.begin(), out.end(), '\n', ' ');
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace lento::opgen

// Reads the text form back. One pass, one token ahead, no recursion: the grammar (docs/ir.md) has no nesting beyond the
// brackets of a list. Every node is verified as soon as it is read, so that what is wrong with it is reported with its
// line and a graph that comes out of here is as good as one that was recorded.
#include "base/fail.h"
#include "ir/attr_list.h"
#include "ir/graph.h"
#include "ir/lexer.h"
#include "ir/nearest_word.h"
#include "ir/op.h"
#include "ir/op_number.h"
#include "ir/shape_limit.h"
#include "ir/verify.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

namespace lento {

namespace {

// Work and memory are linear in the length of the text because lists cannot be longer than this: the checks of axes
// compare each with each.
constexpr std::size_t kMaxListLength = 1024;
constexpr std::ptrdiff_t kMaxScopeDepth = 64;

std::vector<std::string_view> op_names() {
  std::vector<std::string_view> names;
  for (const Op op : all_ops()) {
    if (op != op::leaf) names.push_back(info(op).name);
  }
  return names;
}

std::vector<std::string_view> dtype_names() {
  std::vector<std::string_view> names;
  for (int d = 0; d < kDTypeCount; ++d) names.push_back(name(static_cast<DType>(d)));
  return names;
}

template <class T>
bool read_number(std::string_view text, T& value, int base = 10) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [stop, error] = [&] {
    if constexpr (std::integral<T>)
      return std::from_chars(text.data(), text.data() + text.size(), value, base);
    else
      return std::from_chars(text.data(), text.data() + text.size(), value);
  }();
  return error == std::errc{} && stop == text.data() + text.size();
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text), verifier_(graph_) {}

  Graph parse();

 private:
  void header();
  void node();
  void returned();

  void operands_and_attributes(Op op);
  void finish_attributes(Op op, std::size_t offset);
  void attribute_value(const ArgInfo& arg, Attribute& attribute);
  Source source();
  ScopeId scope(const Token& token);

  Op op_name();
  DType dtype(std::string_view what);
  /// `offset` is where the type began, for errors.
  ShapeId shape(std::size_t offset);
  OperandRef operand();
  Scalar scalar_value();
  double float_value();
  std::int64_t int_value(std::string_view what);
  std::uint32_t index_of(const Token& token, std::string_view prefix);
  /// The next name, which must be the one that is due: names are numbered without gaps.
  void expect_name(Token::Kind kind, std::string_view prefix, std::size_t number);
  void require_room(std::size_t count);

  Lexer lexer_;
  Graph graph_;
  NodeVerifier verifier_;
  // Of the node that is being read; kept to spare allocations.
  std::vector<OperandRef> operands_;
  std::vector<Attribute> attributes_;              // by argument
  std::vector<std::vector<std::int64_t>> values_;  // what the attributes view
  std::vector<std::int64_t> encoded_;
  std::uint32_t result_index_ = 0;
  std::unordered_map<std::string, ScopeId> scopes_;
};

Graph Parser::parse() {
  if (!lexer_.peek().is_word("graph")) lexer_.fail_expected("'graph'");
  lexer_.take();
  header();
  lexer_.expect('{', "before the first node");
  while (lexer_.peek().kind == Token::Kind::value) node();
  returned();
  lexer_.expect('}', "after the last line");
  if (lexer_.peek().kind != Token::Kind::end) lexer_.fail_expected("nothing behind the graph");
  return std::move(graph_);
}

void Parser::header() {
  lexer_.expect('(', "after 'graph'");
  if (lexer_.peek().kind == Token::Kind::value) {
    do {
      require_room(graph_.inputs.size());
      expect_name(Token::Kind::value, "%in", graph_.inputs.size());
      lexer_.expect(':', "and the type of the input");
      const std::size_t offset = lexer_.peek().offset;
      GraphInput input;
      input.dtype = dtype("the type of the input");
      input.shape = shape(offset);
      graph_.inputs.push_back(input);
    } while (lexer_.take_if(','));
  }
  if (lexer_.take_if(';')) {
    do {
      require_room(graph_.scalars.size());
      expect_name(Token::Kind::scalar, "$", graph_.scalars.size());
      lexer_.expect(':', "and the dtype of the number");
      const DType type = dtype("the dtype of the number");
      lexer_.expect('=', "and the value of the number");
      graph_.scalars.push_back({scalar_value(), type});
    } while (lexer_.take_if(','));
  }
  if (!lexer_.peek().is(')')) lexer_.fail_expected("',' or ')' in the header");
  lexer_.take();
}

void Parser::node() {
  require_room(graph_.nodes.size());
  expect_name(Token::Kind::value, "%", graph_.nodes.size());
  lexer_.expect('=', "and the op");
  const std::size_t offset = lexer_.peek().offset;
  const Op op = op_name();
  operands_and_attributes(op);
  lexer_.expect(':', "and the type of the result");

  const std::size_t type_offset = lexer_.peek().offset;
  Record record{.op = op, .dtype = dtype("the type of the result")};
  record.shape = shape(type_offset);
  record.result_index = result_index_;
  finish_attributes(op, offset);
  record.attrs = intern_attrs(encoded_);
  if (operands_.size() <= Record::kInlineOperands) {
    record.operand_count = static_cast<std::uint8_t>(operands_.size());
    std::copy(operands_.begin(), operands_.end(), record.operands);
  } else {
    record.operand_count = Record::kOperandList;
    record.operands[0].bits = static_cast<std::uint32_t>(graph_.operand_lists.size());
    record.operands[1].bits = static_cast<std::uint32_t>(operands_.size());
    graph_.operand_lists.insert(graph_.operand_lists.end(), operands_.begin(), operands_.end());
  }
  graph_.nodes.push_back(record);
  graph_.sources.push_back(source());
  const auto index = static_cast<std::uint32_t>(graph_.nodes.size() - 1);
  if (const std::string rule = verifier_.broken_rule(index); !rule.empty()) lexer_.fail_at(offset, rule);
}

void Parser::operands_and_attributes(Op op) {
  const std::span<const ArgInfo> args = info(op).args;
  operands_.clear();
  attributes_.assign(args.size(), {});
  if (values_.size() < args.size()) values_.resize(args.size());
  result_index_ = 0;
  lexer_.expect('(', "after the op");
  if (lexer_.take_if(')')) return;
  do {
    if (lexer_.peek().kind == Token::Kind::value || lexer_.peek().kind == Token::Kind::scalar) {
      require_room(graph_.operand_lists.size() + operands_.size());
      operands_.push_back(operand());
      continue;
    }
    if (lexer_.peek().kind != Token::Kind::word) lexer_.fail_expected("an operand or an attribute");
    const Token word = lexer_.take();
    lexer_.expect('=', "and the value of the attribute");
    if (op == op::result && word.text == "index") {
      const std::size_t offset = lexer_.peek().offset;
      const std::int64_t index = int_value("the index of the result");
      if (index < 1 || index > 255) lexer_.fail_at(offset, "the index of a result is from 1 to 255");
      result_index_ = static_cast<std::uint32_t>(index);
      continue;
    }
    std::vector<std::string_view> names;
    std::size_t at = 0;
    while (at < args.size() && (!is_attribute(args[at].kind) || args[at].name != word.text)) ++at;
    if (at == args.size()) {
      for (const ArgInfo& arg : args) {
        if (is_attribute(arg.kind)) names.push_back(arg.name);
      }
      lexer_.fail_at(word.offset, fmt::format("{} has no attribute '{}'{}", info(op).name, word.text.substr(0, 40),
                                              did_you_mean(word.text, names)));
    }
    if (attributes_[at].arg != nullptr) {
      lexer_.fail_at(word.offset, fmt::format("the attribute '{}' is given twice", word.text));
    }
    attributes_[at].arg = &args[at];
    values_[at].clear();
    attribute_value(args[at], attributes_[at]);
    attributes_[at].values = values_[at];
  } while (lexer_.take_if(','));
  if (!lexer_.peek().is(')')) lexer_.fail_expected("',' or ')' after an argument");
  lexer_.take();
}

/// Puts the attributes that were read into the order of the op's arguments.
void Parser::finish_attributes(Op op, std::size_t offset) {
  encoded_.clear();
  for (std::size_t i = 0; i < attributes_.size(); ++i) {
    const ArgInfo& arg = info(op).args[i];
    if (!is_attribute(arg.kind)) continue;
    if (attributes_[i].arg == nullptr) {
      lexer_.fail_at(offset, fmt::format("{} needs the attribute '{}'", info(op).name, arg.name));
    }
    encode_attribute(attributes_[i], encoded_);
  }
}

void Parser::attribute_value(const ArgInfo& arg, Attribute& attribute) {
  std::vector<std::int64_t>& values = values_[static_cast<std::size_t>(&attribute - attributes_.data())];
  if (arg.optional && lexer_.peek().is_word("none")) {
    lexer_.take();
    attribute.present = false;
    return;
  }
  const auto word_of = [&](std::string_view what, const std::vector<std::string_view>& choices) -> std::int64_t {
    if (lexer_.peek().kind != Token::Kind::word) lexer_.fail_expected(what);
    const Token word = lexer_.take();
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (choices[i] == word.text) return static_cast<std::int64_t>(i);
    }
    lexer_.fail_at(word.offset, fmt::format("'{}' is not {}: there {} {}{}", word.text.substr(0, 40), what,
                                            choices.size() == 1 ? "is" : "are", fmt::join(choices, ", "),
                                            did_you_mean(word.text, choices)));
  };
  const std::string what = fmt::format("a value for '{}'", arg.name);
  switch (arg.kind) {
    case ArgKind::ints:
      lexer_.expect('[', fmt::format("and the list '{}'", arg.name));
      if (lexer_.take_if(']')) return;
      do {
        if (values.size() == kMaxListLength) {
          lexer_.fail_at(lexer_.peek().offset, fmt::format("a list has at most {} elements", kMaxListLength));
        }
        values.push_back(int_value("an integer"));
      } while (lexer_.take_if(','));
      lexer_.expect(']', "after the list");
      return;
    case ArgKind::bool_:
      values.push_back(word_of(what, {"false", "true"}));
      return;
    case ArgKind::dtype:
      values.push_back(static_cast<std::int64_t>(dtype(what)));
      return;
    case ArgKind::choice:
      values.push_back(word_of(what, std::vector<std::string_view>(arg.choices.begin(), arg.choices.end())));
      return;
    case ArgKind::float_:
      values.push_back(std::bit_cast<std::int64_t>(float_value()));
      return;
    default:
      values.push_back(int_value("an integer"));
      return;
  }
}

void Parser::returned() {
  if (!lexer_.peek().is_word("return")) lexer_.fail_expected("a node or 'return'");
  lexer_.take();
  if (lexer_.peek().kind != Token::Kind::value) return;
  do {
    if (lexer_.peek().kind != Token::Kind::value) lexer_.fail_expected("an output");
    const Token token = lexer_.take();
    const std::uint32_t index = index_of(token, "%");
    if (index >= graph_.nodes.size()) lexer_.fail_at(token.offset, fmt::format("there is no node {}", token.text));
    if (!graph_.outputs.empty() && index <= graph_.outputs.back()) {
      lexer_.fail_at(token.offset, "outputs stand in the order of nodes, each once");
    }
    graph_.outputs.push_back(index);
  } while (lexer_.take_if(','));
}

Source Parser::source() {
  Source result;
  if (lexer_.take_if('@')) {
    const std::string file = lexer_.take_file();
    lexer_.expect(':', "and the line");
    const std::size_t offset = lexer_.peek().offset;
    const std::int64_t line = int_value("a line number");
    if (line < 0 || line >= std::int64_t{Source::kForeign}) lexer_.fail_at(offset, "the line number is out of range");
    result = Source::from_text(file, static_cast<std::uint32_t>(line));
  }
  if (lexer_.peek().is_word("in")) {
    lexer_.take();
    if (lexer_.peek().kind != Token::Kind::string) lexer_.fail_expected("the name of a scope in quotes");
    result.scope = scope(lexer_.take());
  }
  return result;
}

ScopeId Parser::scope(const Token& token) {
  const std::string path = lexer_.unquote(token);
  const auto [it, added] = scopes_.try_emplace(path, 0);
  if (!added) return it->second;
  // Part by part gives the id that the recording had. A name with a slash of its own is taken whole.
  ScopeId id = 0;
  if (std::count(path.begin(), path.end(), '/') < kMaxScopeDepth) {
    for (std::size_t start = 0; start <= path.size();) {
      const std::size_t end = std::min(path.find('/', start), path.size());
      id = intern_scope(id, std::string_view(path).substr(start, end - start));
      start = end + 1;
    }
  }
  if (scope_name(id) != path) id = intern_scope(0, path);
  return it->second = id;
}

Op Parser::op_name() {
  if (lexer_.peek().kind != Token::Kind::word) lexer_.fail_expected("the name of an op");
  const Token word = lexer_.take();
  if (const std::optional<Op> op = find_op(word.text); op && *op != op::leaf) return *op;
  lexer_.fail_at(word.offset,
                 fmt::format("unknown op '{}'{}", word.text.substr(0, 40), did_you_mean(word.text, op_names())));
}

DType Parser::dtype(std::string_view what) {
  if (lexer_.peek().kind != Token::Kind::word) lexer_.fail_expected(what);
  const Token word = lexer_.take();
  if (const auto found = dtype_from_name(word.text)) return *found;
  lexer_.fail_at(word.offset,
                 fmt::format("unknown dtype '{}'{}", word.text.substr(0, 40), did_you_mean(word.text, dtype_names())));
}

ShapeId Parser::shape(std::size_t offset) {
  Shape extents;
  lexer_.expect('(', "and the shape");
  while (!lexer_.peek().is(')')) {
    if (extents.size() == kMaxListLength) {
      lexer_.fail_at(lexer_.peek().offset, fmt::format("a shape has at most {} axes", kMaxListLength));
    }
    extents.push_back(int_value("a length"));
    if (!lexer_.take_if(',')) break;
  }
  lexer_.expect(')', "after the shape");
  if (const std::string rule = broken_shape_rule(extents); !rule.empty()) lexer_.fail_at(offset, rule);
  return intern_shape(extents);
}

OperandRef Parser::operand() {
  const Token token = lexer_.take();
  const bool number = token.kind == Token::Kind::scalar;
  const bool input = token.text.starts_with("%in");
  const std::uint32_t index = index_of(token, number ? "$" : input ? "%in" : "%");
  const std::size_t count = number ? graph_.scalars.size() : input ? graph_.inputs.size() : graph_.nodes.size();
  if (index >= count) {
    lexer_.fail_at(token.offset, fmt::format("{} is not defined before it is used", token.text));
  }
  return number ? OperandRef::scalar(index) : input ? OperandRef::leaf(index) : OperandRef::record(index);
}

Scalar Parser::scalar_value() {
  const Token& token = lexer_.peek();
  if (token.is_word("true") || token.is_word("false")) return lexer_.take().text == "true";
  if (token.is_word("complex")) {
    lexer_.take();
    lexer_.expect('(', "and the real part");
    const double real = float_value();
    lexer_.expect(',', "and the imaginary part");
    const double imaginary = float_value();
    lexer_.expect(')', "after the imaginary part");
    return std::complex<double>(real, imaginary);
  }
  if (token.kind == Token::Kind::number) {
    std::int64_t integer = 0;
    std::uint64_t natural = 0;
    if (read_number(token.text, integer)) {
      lexer_.take();
      return integer;
    }
    if (read_number(token.text, natural)) {
      lexer_.take();
      return natural;
    }
  }
  return float_value();
}

double Parser::float_value() {
  const Token token = lexer_.peek();
  if (token.is_word("nan")) {
    lexer_.take();
    if (!lexer_.take_if('(')) return std::bit_cast<double>(std::uint64_t{0x7ff8000000000000});
    const Token bits_token = lexer_.peek();
    std::uint64_t bits = 0;
    if (!bits_token.text.starts_with("0x") || !read_number(bits_token.text.substr(2), bits, 16) ||
        (bits & 0x7ff0000000000000U) != 0x7ff0000000000000U || (bits & 0x000fffffffffffffU) == 0) {
      lexer_.fail_expected("the bits of a nan");
    }
    lexer_.take();
    lexer_.expect(')', "after the bits of a nan");
    return std::bit_cast<double>(bits);
  }
  if (token.is_word("inf") || (token.kind == Token::Kind::number && token.text == "-inf")) {
    lexer_.take();
    return token.text == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  }
  double value = 0;
  if (token.kind != Token::Kind::number || token.text.find_first_not_of("0123456789.eE+-") != std::string_view::npos ||
      !read_number(token.text, value)) {
    lexer_.fail_expected("a number");
  }
  lexer_.take();
  return value;
}

std::int64_t Parser::int_value(std::string_view what) {
  std::int64_t value = 0;
  if (lexer_.peek().kind != Token::Kind::number || !read_number(lexer_.peek().text, value)) lexer_.fail_expected(what);
  lexer_.take();
  return value;
}

std::uint32_t Parser::index_of(const Token& token, std::string_view prefix) {
  std::uint32_t index = 0;
  const std::string_view digits = token.text.starts_with(prefix) ? token.text.substr(prefix.size()) : "";
  // 01 and +1 would be second names for 1.
  const bool canonical = digits == "0" || (!digits.empty() && digits[0] >= '1' && digits[0] <= '9');
  if (canonical && read_number(digits, index) && index <= OperandRef::kMaxIndex) return index;
  lexer_.fail_at(token.offset, fmt::format("'{}' is no name: nodes are %0, %1, …, inputs %in0, … and numbers $0, …",
                                           token.text.substr(0, 40)));
}

void Parser::expect_name(Token::Kind kind, std::string_view prefix, std::size_t number) {
  const std::string due = fmt::format("{}{}", prefix, number);
  if (lexer_.peek().kind != kind || lexer_.peek().text != due) {
    lexer_.fail_expected(fmt::format("{} (names are numbered without gaps)", due));
  }
  lexer_.take();
}

void Parser::require_room(std::size_t count) {
  if (count >= OperandRef::kMaxIndex) lexer_.fail_at(lexer_.peek().offset, "the graph is too large");
}

}  // namespace

Graph parse_graph(std::string_view text) { return Parser(text).parse(); }

}  // namespace lento

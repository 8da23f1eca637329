// Clause M2: what the three formats look like, that they are well formed, and that names are escaped.
#include "ir/example_graph.h"
#include "ir/random_graph.h"

#include <gtest/gtest.h>

#include <cctype>

namespace lento::test {
namespace {

/// A strict checker of JSON (RFC 8259): no trailing commas, no bare words, no control characters, valid escapes. It
/// keeps its own stack, so that depth is no problem.
class JsonChecker {
 public:
  explicit JsonChecker(std::string_view text) : text_(text) {}

  bool valid() {
    std::string open;  // the brackets that are open
    while (true) {
      skip_spaces();
      if (take('{')) {
        open += '{';
        skip_spaces();
        if (!take('}')) {
          if (!key()) return false;
          continue;
        }
        open.pop_back();
      } else if (take('[')) {
        open += '[';
        skip_spaces();
        if (!take(']')) continue;
        open.pop_back();
      } else if (!plain_value()) {
        return false;
      }
      if (!after_value(open)) return done_;
    }
  }

 private:
  bool plain_value() {
    if (at_ == text_.size()) return false;
    if (text_[at_] == '"') return string();
    return std::isalpha(static_cast<unsigned char>(text_[at_])) != 0 ? word() : number();
  }

  /// Closes brackets and moves on to the next value. False at the end (done_) or at an error.
  bool after_value(std::string& open) {
    while (true) {
      skip_spaces();
      if (open.empty()) {
        done_ = at_ == text_.size();
        return false;
      }
      if (take(',')) return open.back() == '[' || key();
      if (!take(open.back() == '{' ? '}' : ']')) return false;
      open.pop_back();
    }
  }

  bool key() {
    skip_spaces();
    if (!string()) return false;
    skip_spaces();
    return take(':');
  }

  bool string() {
    if (!take('"')) return false;
    while (at_ < text_.size() && text_[at_] != '"') {
      const auto c = static_cast<unsigned char>(text_[at_++]);
      if (c < 0x20) return false;
      if (c != '\\') continue;
      if (at_ == text_.size()) return false;
      const char escape = text_[at_++];
      if (escape == 'u') {
        for (int i = 0; i < 4; ++i, ++at_) {
          if (at_ == text_.size() || std::isxdigit(static_cast<unsigned char>(text_[at_])) == 0) return false;
        }
      } else if (std::string_view("\"\\/bfnrt").find(escape) == std::string_view::npos) {
        return false;
      }
    }
    return take('"');
  }

  bool digits() {
    const std::size_t start = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ > start;
  }

  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      return digits();
    }
    return true;
  }

  bool word() {
    for (const std::string_view word : {"true", "false", "null"}) {
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return true;
      }
    }
    return false;
  }

  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool done_ = false;
};

bool is_json(std::string_view text) { return JsonChecker(text).valid(); }

TEST(JsonChecker, TellsGoodFromBad) {
  for (const char* good :
       {"0", "-1.5e+3", "\"a\\u00e9\"", "[]", "{}", "[1, [2, {}], {\"a\": []}]", "{\"a\": 1, \"b\": null}"}) {
    EXPECT_TRUE(is_json(good)) << good;
  }
  for (const char* bad : {"", "nan", "[1,]", "{\"a\": 1,}", "{a: 1}", "[1 2]", "\"\n\"", "\"\\x41\"", "[1", "1]",
                          "{\"a\"}", "+1", ".5", "1.", "{} {}"}) {
    EXPECT_FALSE(is_json(bad)) << bad;
  }
}

TEST(PrintJson, M2_IsOneObject) {
  EXPECT_EQ(to_string(parse_graph(R"(graph(%in0: float32(2, 3); $0: float32 = -inf) {
  %0 = add(%in0, $0) : float32(2, 3) @ train.py:41 in "model"
  %1 = top_k(%0, k=2, axis=1, largest=true) : float32(2, 2)
  %2 = result(%1, index=1) : int64(2, 2)
  %3 = astype(%2, dtype=bool) : bool(2, 2)
  return %2, %3
})"),
                      GraphFormat::json),
            R"({
  "format": "lento-graph",
  "version": 1,
  "inputs": [
    {"name": "%in0", "dtype": "float32", "shape": [2, 3]}
  ],
  "scalars": [
    {"name": "$0", "dtype": "float32", "kind": "float", "value": "-inf"}
  ],
  "nodes": [
    {"name": "%0", "op": "add", "operands": ["%in0", "$0"], "attributes": {}, "dtype": "float32", "shape": [2, 3], "file": "train.py", "line": 41, "scope": "model"},
    {"name": "%1", "op": "top_k", "operands": ["%0"], "attributes": {"k": 2, "axis": 1, "largest": true}, "dtype": "float32", "shape": [2, 2]},
    {"name": "%2", "op": "result", "operands": ["%1"], "attributes": {"index": 1}, "dtype": "int64", "shape": [2, 2]},
    {"name": "%3", "op": "astype", "operands": ["%2"], "attributes": {"dtype": "bool"}, "dtype": "bool", "shape": [2, 2]}
  ],
  "outputs": [
    "%2",
    "%3"
  ]
}
)");
}

TEST(PrintJson, M2_IsValidForRandomGraphs) {
  EXPECT_TRUE(is_json(to_string(Graph{}, GraphFormat::json)));
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const std::string json = to_string(random_graph(seed, 30).graph, GraphFormat::json);
    ASSERT_TRUE(is_json(json)) << json;
  }
}

TEST(PrintJson, M2_EscapesNames) {
  Graph graph = example_graph();
  graph.sources[0] = Source::from_text("a\"b\\c\nd\x01\xff.py", 1);
  graph.sources[0].scope = intern_scope(0, "\t\"x\"");
  const std::string json = to_string(graph, GraphFormat::json);
  EXPECT_TRUE(is_json(json)) << json;
  EXPECT_NE(json.find(R"("file": "a\"b\\c\u000ad\u0001\ufffd.py", "line": 1, "scope": "\u0009\"x\"")"),
            std::string::npos)
      << json;
}

TEST(PrintDot, M2_ShowsInputsNodesAndOutputs) {
  EXPECT_EQ(to_string(parse_graph(R"(graph(%in0: float32(2, 3); $0: float32 = 0.1) {
  %0 = add(%in0, $0) : float32(2, 3) @ train.py:41 in "model"
  %1 = multiply(%0, %0) : float32(2, 3)
  return %1
})"),
                      GraphFormat::dot),
            R"dot(digraph lento {
  node [shape=box, fontname="monospace"];
  in0 [shape=ellipse, label="%in0\nfloat32(2, 3)"];
  n0 [label="%0 = add(%in0, 0.1)\nfloat32(2, 3)\ntrain.py:41\nmodel"];
  in0 -> n0;
  n1 [label="%1 = multiply(%0, %0)\nfloat32(2, 3)", peripheries=2];
  n0 -> n1;
  n0 -> n1;
}
)dot");
}

TEST(PrintDot, M2_EscapesNames) {
  Graph graph = example_graph();
  graph.sources[0] = Source::from_text("a\"b\\c\nd.py", 1);
  graph.sources[0].scope = intern_scope(0, "\"x\\");
  const std::string dot = to_string(graph, GraphFormat::dot);
  EXPECT_NE(dot.find(R"(\na\"b\\c)"
                     "\xef\xbf\xbd"
                     R"(d.py:1\n\"x\\"];)"),
            std::string::npos)
      << dot;
}

TEST(PrintText, M2_ALongHeaderHasOneLineAnArgument) {
  Graph graph;
  for (int i = 0; i < 3; ++i) graph.inputs.push_back({DType::complex128, intern_shape(Shape{1000, 1000, 1000})});
  graph.scalars.push_back({1.5, DType::float32});
  EXPECT_EQ(to_string(graph), R"(graph(
  %in0: complex128(1000, 1000, 1000),
  %in1: complex128(1000, 1000, 1000),
  %in2: complex128(1000, 1000, 1000);
  $0: float32 = 1.5
) {
  return
}
)");
}

}  // namespace
}  // namespace lento::test

// What the parser says about wrong text, and that no text makes it crash, hang or take much memory.
#include "ir/example_graph.h"
#include "ir/random_graph.h"

#include <lento/error.h>

#include <gtest/gtest.h>

#include <random>

namespace lento::test {
namespace {

void expect_error(const std::string& text, const std::string& message) {
  try {
    parse_graph(text);
    FAIL() << "no error, expected: " << message;
  } catch (const ValueError& error) {
    EXPECT_EQ(std::string(error.what()), message);
  }
}

/// The error of the example with one piece replaced.
void expect_error(std::string_view piece, std::string_view by, const std::string& message) {
  expect_error(replaced(kExampleText, piece, by), message);
}

TEST(Parse, NamesTheNearestOp) {
  expect_error("multiply(", "mutliply(", "line 2, column 8: unknown op 'mutliply' (did you mean 'multiply'?)");
  expect_error("multiply(", "leaf(", "line 2, column 8: unknown op 'leaf'");
  expect_error("multiply(", "xyzzy_plugh(", "line 2, column 8: unknown op 'xyzzy_plugh'");
}

TEST(Parse, NamesTheNearestAttribute) {
  expect_error(
      "keepdims=", "keepdim=", "line 3, column 33: reduce_sum has no attribute 'keepdim' (did you mean 'keepdims'?)");
  expect_error("index=1", "number=1", "line 5, column 19: result has no attribute 'number'");
}

TEST(Parse, NamesTheNearestDtype) {
  expect_error("%in0: float32", "%in0: flaot32",
               "line 1, column 13: unknown dtype 'flaot32' (did you mean 'float32'?)");
  expect_error("dtype=bfloat16", "dtype=bfloat17",
               "line 8, column 25: unknown dtype 'bfloat17' (did you mean 'bfloat16'?)");
}

TEST(Parse, NamesTheChoices) {
  expect_error("keepdims=false", "keepdims=no",
               "line 3, column 42: 'no' is not a value for 'keepdims': there are false, true");
}

TEST(Parse, AttributesAreCompleteAndUnique) {
  expect_error(", keepdims=false", "", "line 3, column 8: reduce_sum needs the attribute 'keepdims'");
  expect_error("keepdims=false", "axes=[0]", "line 3, column 33: the attribute 'axes' is given twice");
}

TEST(Parse, AttributesMayStandInAnyOrder) {
  const std::string text = replaced(kExampleText, "axes=[0], keepdims=false", "keepdims=false, axes=[0]");
  EXPECT_EQ(to_string(parse_graph(text)), kExampleText);
}

TEST(Parse, SpacesAndCommentsDoNotCount) {
  std::string text = "# a graph\n";
  for (const char c : kExampleText) {
    text += c;
    if (c == ',' || c == '(' || c == '=') text += " # comment (\n\t\r ";
  }
  EXPECT_EQ(to_string(parse_graph(text)), kExampleText);
}

TEST(Parse, NamesAreNumberedWithoutGaps) {
  expect_error("%1 =", "%3 =", "line 3, column 3: expected %1 (names are numbered without gaps), found '%3'");
  expect_error("%in1:", "%in2:", "line 1, column 28: expected %in1 (names are numbered without gaps), found '%in2'");
  expect_error("$1:", "$7:", "line 1, column 66: expected $1 (names are numbered without gaps), found '$7'");
  expect_error("(%0, axes", "(%00, axes",
               "line 3, column 19: '%00' is no name: nodes are %0, %1, …, inputs %in0, … and numbers $0, …");
}

TEST(Parse, OperandsAreDefinedBefore) {
  expect_error("reduce_sum(%0", "reduce_sum(%1", "line 3, column 19: %1 is not defined before it is used");
  expect_error("multiply(%in0", "multiply(%in2", "line 2, column 17: %in2 is not defined before it is used");
  expect_error("(%in0, $0)", "(%in0, $2)", "line 2, column 23: $2 is not defined before it is used");
}

TEST(Parse, OutputsAreNodesInOrder) {
  expect_error("return %3, %6", "return %3, %8", "line 10, column 14: there is no node %8");
  expect_error("return %3, %6", "return %6, %3", "line 10, column 14: outputs stand in the order of nodes, each once");
  expect_error("return %3, %6", "return %3,", "line 11, column 1: expected an output, found '}'");
}

TEST(Parse, NodesAreVerifiedWithTheirLine) {
  expect_error("axes=[0], keepdims=false) : float32(3,)", "axes=[0], keepdims=false) : float32(4,)",
               "line 3, column 8: reduce_sum gives float32(3,), not float32(4,)");
  expect_error("axes=[0]", "axes=[5]",
               "line 3, column 8: reduce_sum: axis 5 is out of range for float32(2, 3): it must be from -2 to 1");
  expect_error("multiply(%in0, $0)", "multiply(%in0)", "line 2, column 8: multiply takes 2 operands, got 1");
  expect_error("index=1", "index=2", "line 5, column 8: top_k has no result 2: it has 2");
  expect_error("(%2, index=1)", "(%2)", "line 5, column 8: top_k has no result 0: it has 2");
}

TEST(Parse, TypesAreSound) {
  expect_error("%in0: float32(2, 3)", "%in0: float32(-2, 3)",
               "line 1, column 13: the shape (-2, 3) has a negative length");
  expect_error("%in0: float32(2, 3)", "%in0: float32(9223372036854775807, 3)",
               "line 1, column 13: the shape (9223372036854775807, 3) is too large: a tensor has at most "
               "144115188075855872 elements");
  expect_error("%in0: float32(2, 3)", "%in0: float32(9223372036854775808, 3)",
               "line 1, column 21: expected a length, found '9223372036854775808'");
}

TEST(Parse, NumbersAreNumbers) {
  expect_error("= 0.1", "= 0.1x", "line 1, column 61: expected a number, found '0.1x'");
  expect_error("= 0.1", "= 1e999", "line 1, column 61: expected a number, found '1e999'");
  expect_error("= 0.1", "= nan(0x1)", "line 1, column 65: expected the bits of a nan, found '0x1'");
  expect_error("= 0.1", "= -nan", "line 1, column 61: expected a number, found '-nan'");
  expect_error("= 0.1", "= complex(1.0)", "line 1, column 72: expected ',' and the imaginary part, found ')'");
}

TEST(Parse, SaysWhatIsMissing) {
  expect_error(std::string(), "line 1, column 1: expected 'graph', found the end of the text");
  expect_error("graph", "line 1, column 6: expected '(' after 'graph', found the end of the text");
  expect_error("graph() {", "line 1, column 10: expected a node or 'return', found the end of the text");
  expect_error("graph() { return } more", "line 1, column 20: expected nothing behind the graph, found 'more'");
  expect_error(" : float32(3,) ", " ", "line 3, column 53: expected ':' and the type of the result, found '@'");
  expect_error("@ train.py:41", "@ :41", "line 2, column 69: expected a file name, found ':'");
  expect_error("train.py:41", "train.py", "line 2, column 78: expected ':' and the line, found 'in'");
  expect_error("train.py:41", "train.py:-1", "line 2, column 78: the line number is out of range");
  expect_error("in \"model/layer1\"", "in \"model", "line 2, column 84: the string does not end on its line");
  expect_error("model/layer1", "model\\q",
               R"(line 2, column 90: unknown escape in a string: there are \\, \", \n, \t and \xNN)");
}

TEST(Parse, LongTokensAreShortened) {
  std::string long_name(100'000, 'x');
  long_name += '(';
  expect_error("multiply(", long_name, "line 2, column 8: unknown op '" + std::string(40, 'x') + "'");
}

TEST(Parse, ListsAreBounded) {
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "1, ";
  expect_error("%in0: float32(2, 3)", "%in0: float32(" + many + ")",
               "line 1, column 3093: a shape has at most 1024 axes");
  expect_error("axes=[0]", "axes=[" + many + "1]", "line 3, column 3101: a list has at most 1024 elements");
}

/// Parses; whatever comes out must be a good graph, whatever is thrown must be the parser's own error.
void survive(const std::string& text) {
  try {
    const Graph graph = parse_graph(text);
    verify(graph);
    const std::string printed = to_string(graph);
    ASSERT_EQ(to_string(parse_graph(printed)), printed) << text;
  } catch (const ValueError& error) {
    ASSERT_EQ(std::string_view(error.what()).substr(0, 5), "line ") << text;
  }
}

TEST(Parse, SurvivesHostileText) {
  survive(std::string(1'000'000, '('));
  survive(std::string(1'000'000, '['));
  survive("graph(" + std::string(1'000'000, '%'));
  survive("graph(%in" + std::string(1'000'000, '9'));
  survive("graph(%in0: float32(" + std::string(1'000'000, '1') + "))");
  survive("graph(; $0: float32 = " + std::string(1'000'000, '1') + ")");
  survive("graph(; $0: float32 = 0." + std::string(1'000'000, '1') + ") { return }");
  survive("graph() { %0 = full(" + std::string(1'000'000, '"'));
  survive(std::string("\0\0\0", 3));
  survive("graph() { return %4294967295 }");
  std::string deep = "graph(%in0: float32()) { %0 = abs(%in0) : float32() in \"";
  for (int i = 0; i < 300'000; ++i) deep += "a/";
  survive(deep + "\" return %0 }");
}

TEST(Parse, SurvivesMutations) {
  std::vector<std::string> texts{std::string(kExampleText)};
  for (std::uint64_t seed = 0; seed < 40; ++seed) texts.push_back(to_string(random_graph(seed, 8).graph));
  const std::string_view pieces[] = {"%",
                                     "$",
                                     "(",
                                     ")",
                                     "[",
                                     "]",
                                     "{",
                                     "}",
                                     ",",
                                     ":",
                                     ";",
                                     "=",
                                     "@",
                                     "\"",
                                     "\\",
                                     "#",
                                     "\n",
                                     "-",
                                     "0",
                                     "9",
                                     "in",
                                     "inf",
                                     "nan",
                                     "none",
                                     "true",
                                     "graph",
                                     "return",
                                     "e+",
                                     "0x",
                                     "complex(",
                                     ".",
                                     "%in0",
                                     "$0",
                                     "%0",
                                     "-1",
                                     "1e5",
                                     "float16",
                                     "[0]",
                                     "()",
                                     "\xff",
                                     "9223372036854775807",
                                     "4611686018427387904",
                                     "-9223372036854775808"};
  std::mt19937_64 random(7);
  const auto below = [&](std::size_t end) {
    return static_cast<std::size_t>(random() % std::max<std::size_t>(end, 1));
  };
  for (int round = 0; round < 20'000; ++round) {
    std::string text = texts[below(texts.size())];
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
      const std::size_t at = below(text.size());
      switch (below(6)) {
        case 0:
          text.erase(at, 1 + below(8));
          break;
        case 1:
          text.insert(at, pieces[below(std::size(pieces))]);
          break;
        case 2:
          text[at] = static_cast<char>(random());
          break;
        case 3: {
          const std::string& other = texts[below(texts.size())];
          text.insert(at, other.substr(below(other.size()), below(30)));
          break;
        }
        case 4:
          text.resize(at);
          break;
        case 5: {  // another number where there is one
          const std::size_t digit = text.find_first_of("0123456789", at);
          if (digit != std::string::npos) {
            const std::size_t end = std::min(text.find_first_not_of("0123456789", digit), text.size());
            text.replace(digit, end - digit, std::to_string(random() >> below(64)));
          }
          break;
        }
      }
      if (text.empty()) text = "g";
    }
    survive(text);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace lento::test

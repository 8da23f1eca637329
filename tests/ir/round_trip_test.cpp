// Clause M2: the text form parses back into the same graph.
#include "ir/example_graph.h"
#include "ir/op.h"
#include "ir/op_elementwise.gen.h"
#include "ir/random_graph.h"
#include "ir/verify.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <set>

namespace lento::test {
namespace {

void expect_same(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    ASSERT_EQ(std::memcmp(&a.nodes[i], &b.nodes[i], sizeof(Record)), 0) << "node " << i;
    ASSERT_EQ(to_string(a.sources[i]), to_string(b.sources[i])) << "node " << i;
    ASSERT_EQ(scope_name(a.sources[i].scope), scope_name(b.sources[i].scope)) << "node " << i;
  }
  ASSERT_EQ(a.inputs, b.inputs);
  ASSERT_EQ(a.scalars.size(), b.scalars.size());
  for (std::size_t i = 0; i < a.scalars.size(); ++i) {
    ASSERT_EQ(a.scalars[i].value, b.scalars[i].value) << "number " << i;
    ASSERT_EQ(a.scalars[i].dtype, b.scalars[i].dtype) << "number " << i;
  }
  ASSERT_EQ(a.operand_lists, b.operand_lists);
  ASSERT_EQ(a.outputs, b.outputs);
}

void expect_round_trip(const Graph& graph) {
  const std::string text = to_string(graph);
  const Graph parsed = parse_graph(text);
  ASSERT_EQ(to_string(parsed), text);
  expect_same(graph, parsed);
}

TEST(RoundTrip, M2_TheExamplePrintsAsItWasWritten) { EXPECT_EQ(to_string(example_graph()), kExampleText); }

TEST(RoundTrip, M2_EveryPrimitiveOfTheCatalogue) {
  for (const Op op : all_primitives()) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      RandomGraphBuilder builder(seed);
      ASSERT_TRUE(builder.add(op)) << "random_graph.cpp does not know how to make operands of " << info(op).name;
      const RandomGraph random = builder.finish();
      ASSERT_NO_THROW(verify(random.graph)) << info(op).name;
      expect_round_trip(random.graph);
    }
  }
}

TEST(RoundTrip, M2_RandomGraphs) {
  std::set<Op> seen;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const RandomGraph random = random_graph(seed, 60);
    for (const Record& record : random.graph.nodes) seen.insert(record.op);
    ASSERT_NO_THROW(verify(random.graph)) << "seed " << seed;
    expect_round_trip(random.graph);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_EQ(seen.size(), all_primitives().size() + 1);  // and op::result
}

TEST(RoundTrip, M2_TheEmptyGraph) { expect_round_trip(Graph{}); }

TEST(RoundTrip, M2_NumbersKeepKindAndBits) {
  Graph graph;
  const auto add = [&](const Scalar& value, DType dtype) { graph.scalars.push_back({value, dtype}); };
  for (const std::uint64_t bits : {0x7ff8000000000000U, 0xfff8000000000000U, 0x7ff0000000000001U, 0x7fffffffffffffffU,
                                   0x0UL, 0x8000000000000000U, 0x1UL, 0x7fefffffffffffffU, 0x3fb999999999999aU,
                                   0x7ff0000000000000U, 0xfff0000000000000U, 0x4340000000000000U}) {
    const double value = std::bit_cast<double>(bits);
    add(value, DType::float64);
    add(std::complex<double>(value, -value), DType::complex64);
    add(std::complex<double>(-0.0, value), DType::complex128);
  }
  add(true, DType::bool_);
  add(false, DType::float32);
  for (const std::int64_t value : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{0},
                                   std::numeric_limits<std::int64_t>::max()}) {
    add(value, DType::int64);
  }
  add(std::uint64_t{1} << 63, DType::uint64);
  add(std::numeric_limits<std::uint64_t>::max(), DType::uint64);
  add(1.0, DType::float16);
  expect_round_trip(graph);
}

TEST(RoundTrip, M2_SourcesWithOddNames) {
  Graph graph = example_graph();
  const char* files[] = {"",      " ",    "a:b",      "x\ny", "\"",    "\\", "\xff\xfe", "\xed\xa0\x80",
                         "tab\t", "\x01", "naïve.py", "#no",  "return"};
  for (const char* file : files) {
    graph.sources[0] = Source::from_text(file, 12);
    graph.sources[1] = Source::from_text(file, 0x7fffffff);
    for (const char* scope : {"a", "a/b", "/", "//", "a/", "/a", "\"", "\n", "\xff"}) {
      graph.sources[0].scope = intern_scope(0, scope);
      graph.sources[3].scope = intern_scope(intern_scope(0, "outer"), scope);
      expect_round_trip(graph);
    }
  }
}

TEST(RoundTrip, M2_ScopesGetTheIdsTheyWereRecordedWith) {
  Graph graph = example_graph();
  graph.sources[0].scope = intern_scope(intern_scope(intern_scope(0, "a"), "b"), "c");
  EXPECT_EQ(parse_graph(to_string(graph)).sources[0].scope, graph.sources[0].scope);
}

TEST(RoundTrip, M2_AForeignSourceIsAskedForItsText) {
  set_source_resolver(
      [](const void*, std::uint32_t position) { return "/home/me/train.py:" + std::to_string(position); });
  Graph graph = example_graph();
  graph.sources[0] = Source::foreign(&graph, 17);
  const std::string text = to_string(graph);
  set_source_resolver(nullptr);
  EXPECT_NE(text.find("@ train.py:17\n"), std::string::npos) << text;
  EXPECT_EQ(to_string(parse_graph(text)), text);
}

TEST(RoundTrip, T9_AChainOfAMillionNodes) {
  constexpr std::uint32_t kNodes = 1'000'000;
  Graph graph;
  graph.inputs.push_back({DType::float32, intern_shape(Shape{2, 3})});
  Record record{.op = op::multiply, .dtype = DType::float32};
  record.operand_count = 2;
  record.shape = graph.inputs[0].shape;
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    graph.scalars.push_back({0.5, DType::float32});
    record.operands[0] = i == 0 ? OperandRef::leaf(0) : OperandRef::record(i - 1);
    record.operands[1] = OperandRef::scalar(i);
    graph.nodes.push_back(record);
    graph.sources.push_back(Source::from_text("chain.py", 3));
  }
  graph.outputs.push_back(kNodes - 1);
  verify(graph);
  const std::string text = to_string(graph);
  const Graph parsed = parse_graph(text);
  expect_same(graph, parsed);
  EXPECT_EQ(to_string(parsed), text);
  EXPECT_GT(to_string(graph, GraphFormat::dot).size(), kNodes);
  EXPECT_GT(to_string(graph, GraphFormat::json).size(), kNodes);
}

}  // namespace
}  // namespace lento::test

// Simplification as a whole: what is merged and what is not, what is left out, and that arguments keep their places.
#include "compiler/passes/simplify.h"

#include "backends/reference/interpreter.h"
#include "compiler/passes/dead_code.h"
#include "compiler/passes/rules.h"
#include "fuzz/watch.h"
#include "ir/attrs_index_map.gen.h"
#include "ir/attrs_random.gen.h"
#include "ir/attrs_sort.gen.h"
#include "ir/graph_maker.h"
#include "ir/op_elementwise.gen.h"
#include "ir/op_index_map.gen.h"
#include "ir/op_random.gen.h"
#include "ir/op_sort.gen.h"
#include "ir/random_graph.h"
#include "ir/random_inputs.h"
#include "ir/run_graph.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace lento::test {
namespace {

constexpr DType kFloat = DType::float32;

Graph simplified(const std::string& text, Simplified* what = nullptr) {
  Graph graph = parse_graph(text);
  const Simplified done = simplify(graph);
  verify(graph);
  if (what != nullptr) *what = done;
  return graph;
}

TEST(Simplify, WhatIsComputedTwiceIsComputedOnce) {
  Simplified done;
  const Graph graph = simplified(R"(graph(%in0: float32(4,), %in1: float32(4,)) {
  %0 = multiply(%in0, %in1) : float32(4,)
  %1 = exp(%0) : float32(4,)
  %2 = multiply(%in0, %in1) : float32(4,)
  %3 = exp(%2) : float32(4,)
  %4 = subtract(%1, %3) : float32(4,)
  return %4
}
)",
                                 &done);
  EXPECT_EQ(to_string(graph), R"(graph(%in0: float32(4,), %in1: float32(4,)) {
  %0 = multiply(%in0, %in1) : float32(4,)
  %1 = exp(%0) : float32(4,)
  %2 = subtract(%1, %1) : float32(4,)
  return %2
}
)");
  EXPECT_EQ(done.merged, 2U);
  EXPECT_EQ(graph.origins, (std::vector<std::uint32_t>{0, 1, 4}));
}

class Log final : public SimplifyObserver {
 public:
  std::string text;

 private:
  void on_rule(const Rule& rule, std::uint32_t node) override {
    text += "%" + std::to_string(node) + ": " + std::string(rule.name) + "\n";
  }
  void on_merge(std::uint32_t node, std::uint32_t equal) override {
    text += "%" + std::to_string(node) + " is %" + std::to_string(equal) + "\n";
  }
  void on_pass(std::string_view pass, const Graph& graph) override {
    verify(graph);
    text += std::string(pass) + ": " + std::to_string(graph.nodes.size()) + " nodes\n";
  }
};

TEST(Simplify, AnObserverSeesEachPassAndChangesNothing) {
  const char* const text = R"(graph(%in0: float32(4,)) {
  %0 = negative(%in0) : float32(4,)
  %1 = negative(%0) : float32(4,)
  %2 = exp(%1) : float32(4,)
  %3 = exp(%in0) : float32(4,)
  %4 = add(%2, %3) : float32(4,)
  return %4
}
)";
  Graph observed = parse_graph(text);
  Log log;
  simplify(observed, &log);
  EXPECT_EQ(log.text, "%1: negative(negative(x)) = x\n%3 is %2\nrules: 3 nodes\ndead-code: 2 nodes\n");
  EXPECT_EQ(to_string(observed), to_string(simplified(text)));
  // Of a graph that was simplified before, nodes keep the names of the trace.
  observed = parse_graph(text);
  observed.origins = {10, 11, 12, 13, 14};
  Log again;
  simplify(observed, &again);
  EXPECT_EQ(again.text, "%11: negative(negative(x)) = x\n%13 is %12\nrules: 3 nodes\ndead-code: 2 nodes\n");
}

TEST(Simplify, LongListsOfOperandsAreComparedToo) {
  const Graph graph = simplified(R"(graph(%in0: float32(2,), %in1: float32(2,)) {
  %0 = concatenate(%in0, %in1, %in0, %in1, axis=0) : float32(8,)
  %1 = concatenate(%in0, %in1, %in0, %in1, axis=0) : float32(8,)
  %2 = concatenate(%in0, %in1, %in1, %in0, axis=0) : float32(8,)
  %3 = concatenate(%0, %1, %2, %0, axis=0) : float32(32,)
  return %3
}
)");
  EXPECT_EQ(to_string(graph), R"(graph(%in0: float32(2,), %in1: float32(2,)) {
  %0 = concatenate(%in0, %in1, %in0, %in1, axis=0) : float32(8,)
  %1 = concatenate(%in0, %in1, %in1, %in0, axis=0) : float32(8,)
  %2 = concatenate(%0, %0, %1, %0, axis=0) : float32(32,)
  return %2
}
)");
}

TEST(Simplify, NumbersAreNeverEqualByValue) {
  const Graph graph = simplified(R"(graph(%in0: float32(4,); $0: float32 = 2.0, $1: float32 = 2.0) {
  %0 = multiply(%in0, $0) : float32(4,)
  %1 = multiply(%in0, $1) : float32(4,)
  %2 = subtract(%0, %1) : float32(4,)
  return %2
}
)");
  EXPECT_EQ(graph.nodes.size(), 3U);
}

TEST(Simplify, RandomBitsAreEqualWhenTheirKeysAre) {
  GraphMaker maker;
  const OperandRef key = maker.number(std::uint64_t{1}, DType::uint64);
  const OperandRef other = maker.number(std::uint64_t{1}, DType::uint64);
  const AttrsId attrs = intern(RandomBitsAttrs{{4}, DType::uint32});
  const OperandRef a = maker.node(op::random_bits, {key, key}, attrs);
  const OperandRef b = maker.node(op::random_bits, {key, key}, attrs);
  const OperandRef c = maker.node(op::random_bits, {key, other}, attrs);
  maker.output(maker.node(op::where, {maker.node(op::equal, {a, b}), b, c}));
  EXPECT_EQ(simplify(maker.graph).merged, 1U);
  verify(maker.graph);
}

TEST(Simplify, AnOpWithMoreResultsThanItsEqualIsKept) {
  const AttrsId attrs = intern(TopKAttrs{2, 0, true});
  for (const bool first_has_both : {true, false}) {
    GraphMaker maker;
    const OperandRef x = maker.input(kFloat, {4});
    const OperandRef a = maker.node(op::top_k, {x}, attrs);
    if (first_has_both) maker.output(maker.result(a, 1));
    const OperandRef b = maker.node(op::top_k, {x}, attrs);
    const OperandRef positions = maker.result(b, 1);
    maker.output(maker.node(op::subtract, {a, b}));
    maker.output(maker.node(op::negative, {positions}));
    EXPECT_EQ(simplify(maker.graph).merged, first_has_both ? 1U : 0U);
    verify(maker.graph);
  }
}

TEST(Simplify, EachOutputStaysANodeOfItsOwn) {
  const Graph before = parse_graph(R"(graph(%in0: float32(2, 3), %in1: float32(3, 2)) {
  %0 = exp(%in0) : float32(2, 3)
  %1 = exp(%in0) : float32(2, 3)
  %2 = matrix_multiply(%in0, %in1) : float32(2, 2)
  %3 = matrix_multiply(%in0, %in1) : float32(2, 2)
  %4 = negative(%in0) : float32(2, 3)
  %5 = negative(%4) : float32(2, 3)
  %6 = reshape(%in0, shape=[2, 3]) : float32(2, 3)
  %7 = add(%1, %5) : float32(2, 3)
  return %0, %1, %2, %3, %5, %6, %7
}
)");
  Graph after = before;
  simplify(after);
  verify(after);
  // A value that is there already is an output by a reshape, which costs nothing, and who reads an output reads the
  // value that it equals.
  EXPECT_EQ(to_string(after), R"(graph(%in0: float32(2, 3), %in1: float32(3, 2)) {
  %0 = exp(%in0) : float32(2, 3)
  %1 = reshape(%0, shape=[2, 3]) : float32(2, 3)
  %2 = matrix_multiply(%in0, %in1) : float32(2, 2)
  %3 = reshape(%2, shape=[2, 2]) : float32(2, 2)
  %4 = reshape(%in0, shape=[2, 3]) : float32(2, 3)
  %5 = reshape(%in0, shape=[2, 3]) : float32(2, 3)
  %6 = add(%0, %in0) : float32(2, 3)
  return %0, %1, %2, %3, %4, %5, %6
}
)");
}

TEST(Simplify, ArgumentsKeepTheirPlaces) {
  const Graph graph = simplified(R"(graph(%in0: float32(4,), %in1: float32(4,); $0: float32 = 1.0, $1: float32 = 2.0) {
  %0 = multiply(%in0, $0) : float32(4,)
  %1 = multiply(%in1, $1) : float32(4,)
  return %1
}
)");
  EXPECT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.inputs.size(), 2U);
  EXPECT_EQ(graph.scalars.size(), 2U);
  EXPECT_EQ(graph.nodes[0].operands[0], OperandRef::leaf(1));
  EXPECT_EQ(graph.nodes[0].operands[1], OperandRef::scalar(1));
  EXPECT_EQ(graph.origins, std::vector<std::uint32_t>{1});
}

/// The rules see through each other's results: normalising by a mean that lost its axis becomes one of kept axes.
TEST(Simplify, NormalisationWrittenWithNewAxesKeepsTheReducedOnes) {
  const Graph graph = simplified(R"(graph(%in0: float32(8, 16); $0: float32 = 16.0, $1: float32 = 1e-05) {
  %0 = reduce_sum(%in0, axes=[1], keepdims=false) : float32(8,)
  %1 = divide(%0, $0) : float32(8,)
  %2 = add(%1, $1) : float32(8,)
  %3 = reshape(%2, shape=[8, 1]) : float32(8, 1)
  %4 = subtract(%in0, %3) : float32(8, 16)
  %5 = reduce_sum(%in0, axes=[1], keepdims=true) : float32(8, 1)
  %6 = divide(%4, %5) : float32(8, 16)
  return %6
}
)");
  EXPECT_EQ(to_string(graph), R"(graph(%in0: float32(8, 16); $0: float32 = 16.0, $1: float32 = 1e-05) {
  %0 = reduce_sum(%in0, axes=[1], keepdims=true) : float32(8, 1)
  %1 = divide(%0, $0) : float32(8, 1)
  %2 = add(%1, $1) : float32(8, 1)
  %3 = subtract(%in0, %2) : float32(8, 16)
  %4 = divide(%3, %0) : float32(8, 16)
  return %4
}
)");
}

TEST(Simplify, AReductionThatOthersReadIsNotComputedTwice) {
  const std::string text = R"(graph(%in0: float32(8, 16)) {
  %0 = reduce_sum(%in0, axes=[1], keepdims=false) : float32(8,)
  %1 = reshape(%0, shape=[8, 1]) : float32(8, 1)
  %2 = subtract(%in0, %1) : float32(8, 16)
  return %0, %2
}
)";
  EXPECT_EQ(to_string(simplified(text)), text);
}

#ifdef LENTO_CONSTANT_HASH
constexpr std::uint32_t kLong = 2'000;  // each node is compared with all before it
#else
constexpr std::uint32_t kLong = 100'000;
#endif

TEST(Simplify, LongChainsNeedNoStack) {
  GraphMaker maker;
  OperandRef x = maker.input(kFloat, {2, 2});
  for (std::uint32_t i = 0; i < kLong; ++i) {
    x = maker.node(i % 3 == 0 ? op::exp : op::negative, {x});
    x = maker.node(op::permute_dims, {x}, intern(PermuteDimsAttrs{{1, 0}}));
    x = maker.node(op::permute_dims, {x}, intern(PermuteDimsAttrs{{1, 0}}));
  }
  maker.output(x);
  const Simplified done = simplify(maker.graph);
  // Of three nodes exp, negative, negative the first is left; the output is a copy of the last value.
  EXPECT_EQ(maker.graph.nodes.size(), (kLong + 2) / 3 + (kLong % 3 == 2 ? 2U : 1U));
  EXPECT_GE(done.dropped, kLong);
}

TEST(Simplify, SaysWhatItDid) {
  Simplified done;
  simplified(R"(graph(%in0: float32(4,)) {
  %0 = negative(%in0) : float32(4,)
  %1 = negative(%0) : float32(4,)
  %2 = exp(%1) : float32(4,)
  return %2
}
)",
             &done);
  EXPECT_EQ(to_string(done), "# 1 times negative(negative(x)) = x\n# 0 nodes merged with equal ones, 1 left out\n");
  simplified("graph(%in0: float32(4,)) {\n  %0 = exp(%in0) : float32(4,)\n  return %0\n}\n", &done);
  EXPECT_EQ(to_string(done), "");
}

/// Doing it again finds nothing, and the bits of the reference backend stay, with and without failed inputs.
TEST(Simplify, RandomGraphsKeepTheirBits) {
  std::size_t merged = 0;
  for (std::uint64_t seed = 0; seed < fuzz::from_environment("LENTO_FUZZ_SEEDS", 300); ++seed) {
    const RandomGraph random = random_graph(seed, 60);
    Graph simpler = random.graph;
    merged += simplify(simpler).merged;
    ASSERT_NO_THROW(verify(simpler)) << to_string(random.graph) << to_string(simpler);
    reference::Interpreter before(random.graph, 0);
    reference::Interpreter after(simpler, 0);
    const InputBytes inputs = make_inputs(random, seed);
    RunOptions options;
    ASSERT_TRUE(run_graph(after, random.graph, inputs, options) == run_graph(before, random.graph, inputs, options))
        << "seed " << seed << "\n"
        << to_string(random.graph) << to_string(simpler);
    for (std::size_t i = 0; i < inputs.size(); ++i) options.failed_inputs.push_back((seed + i) % 5 == 0 ? 1 : 0);
    ASSERT_TRUE(run_graph(after, random.graph, inputs, options) == run_graph(before, random.graph, inputs, options))
        << "seed " << seed << ", failed inputs\n"
        << to_string(random.graph) << to_string(simpler);
  }
  EXPECT_GT(merged, 0U);
}

TEST(DeadCode, WhatNoOutputNeedsIsLeftOut) {
  GraphMaker maker;
  const OperandRef x = maker.input(kFloat, {4});
  maker.node(op::exp, {x});
  const OperandRef top = maker.node(op::top_k, {x}, intern(TopKAttrs{2, 0, true}));
  const OperandRef positions = maker.result(top, 1);
  maker.node(op::negative, {top});
  maker.output(positions);
  EXPECT_EQ(drop_dead_code(maker.graph), 2U);
  verify(maker.graph);
  EXPECT_EQ(maker.graph.origins, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(drop_dead_code(maker.graph), 0U);
}

}  // namespace
}  // namespace lento::test

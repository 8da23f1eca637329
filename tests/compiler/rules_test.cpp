// The rules of simplification, each on its pattern: it is used, the bits of the reference backend stay, and so does
// every failure.
#include "compiler/passes/rules.h"

#include "backends/reference/interpreter.h"
#include "compiler/passes/exact_casts.h"
#include "compiler/passes/simplify.h"
#include "compiler/rule_patterns.h"
#include "ir/attrs_cast.gen.h"
#include "ir/attrs_index_map.gen.h"
#include "ir/op_cast.gen.h"
#include "ir/op_index_map.gen.h"
#include "ir/run_graph.h"

#include <lento/error.h>

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

namespace lento::test {
namespace {

constexpr DType dtype_at(int index) { return static_cast<DType>(index); }

/// The pattern as an output, or read by an op that no rule knows; nothing where the ops are not defined.
std::optional<Graph> graph_of(const RulePattern& pattern, DType dtype, bool read_on) {
  GraphMaker maker;
  try {
    OperandRef node = pattern.build(maker, dtype);
    if (read_on) node = maker.node(op::concatenate, {node, node}, intern(ConcatenateAttrs{0}));
    maker.output(node);
  } catch (const Error&) {
    return std::nullopt;
  }
  verify(maker.graph);
  return std::move(maker.graph);
}

std::vector<Outcome> run_reference(const Graph& graph, const Graph& arguments, const RunOptions& options = {}) {
  reference::Interpreter program(graph, 0);
  return run_graph(program, arguments, special_inputs(arguments), options);
}

TEST(Rules, EachHasAPatternAndANameOfItsOwn) {
  std::set<std::string_view> with_pattern;
  for (const RulePattern& pattern : rule_patterns()) with_pattern.insert(pattern.rule);
  std::set<std::string_view> names;
  for (const Rule& rule : all_rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_TRUE(with_pattern.contains(rule.name)) << rule.name << " has no pattern in rule_patterns.cpp";
  }
  EXPECT_EQ(with_pattern, names);
}

/// Calls `check(pattern, graph, simpler, what was done, text)` for each pattern in each dtype, as an output and read
/// on.
template <class Check>
void for_each_pattern(const Check& check) {
  for (const RulePattern& pattern : rule_patterns()) {
    std::size_t dtypes = 0;
    for (int d = 0; d < kDTypeCount; ++d) {
      for (const bool read_on : {false, true}) {
        const std::optional<Graph> graph = graph_of(pattern, dtype_at(d), read_on);
        if (!graph) continue;
        ++dtypes;
        Graph simpler = *graph;
        const Simplified done = simplify(simpler);
        SCOPED_TRACE(std::string(pattern.rule) + "\n" + to_string(*graph) + to_string(simpler));
        check(pattern, dtype_at(d), *graph, simpler, done);
      }
    }
    EXPECT_GT(dtypes, 0U) << pattern.rule << ": the pattern is never defined";
  }
}

TEST(Rules, EachIsUsedWhereItHolds) {
  for_each_pattern(
      [](const RulePattern& pattern, DType dtype, const Graph& graph, const Graph& simpler, const Simplified& done) {
        ASSERT_NO_THROW(verify(simpler));
        std::size_t fired = 0;
        for (std::size_t i = 0; i < all_rules().size(); ++i) {
          if (all_rules()[i].name == pattern.rule) fired += done.fired[i];
        }
        EXPECT_EQ(fired > 0, !contains(pattern.except, dtype));
        EXPECT_LE(simpler.nodes.size(), graph.nodes.size());
      });
}

TEST(Rules, NoBitChanges) {
  for_each_pattern([](const RulePattern&, DType, const Graph& graph, const Graph& simpler, const Simplified&) {
    EXPECT_TRUE(run_reference(simpler, graph) == run_reference(graph, graph));
  });
}

TEST(Rules, NoFailureIsLost) {
  for_each_pattern([](const RulePattern&, DType, const Graph& graph, const Graph& simpler, const Simplified&) {
    for (std::size_t failed = 0; failed < graph.inputs.size(); ++failed) {
      RunOptions options;
      options.failed_inputs.resize(graph.inputs.size(), 0);
      options.failed_inputs[failed] = 1;
      EXPECT_TRUE(run_reference(simpler, graph, options) == run_reference(graph, graph, options)) << "input " << failed;
    }
  });
}

/// Every pair of casts that the rule merges, and that it merges those that people write.
TEST(Rules, CastsThatAreLeftOutWereExact) {
  for (int from = 0; from < kDTypeCount; ++from) {
    for (int middle = 0; middle < kDTypeCount; ++middle) {
      for (int to = 0; to < kDTypeCount; ++to) {
        if (!middle_cast_is_exact(dtype_at(from), dtype_at(middle), dtype_at(to))) continue;
        GraphMaker maker;
        try {
          const OperandRef x = maker.input(dtype_at(from), {64});
          const OperandRef inner = maker.node(op::astype, {x}, intern(AstypeAttrs{dtype_at(middle)}));
          maker.output(maker.node(op::astype, {inner}, intern(AstypeAttrs{dtype_at(to)})));
          maker.output(maker.node(op::astype, {x}, intern(AstypeAttrs{dtype_at(to)})));
        } catch (const Error&) {
          continue;  // a complex number is no real one
        }
        const std::vector<Outcome> outcomes = run_reference(maker.graph, maker.graph);
        EXPECT_TRUE(outcomes[0] == outcomes[1]) << to_string(maker.graph);
      }
    }
  }
  EXPECT_TRUE(middle_cast_is_exact(DType::bool_, DType::int64, DType::float32));
  EXPECT_TRUE(middle_cast_is_exact(DType::int8, DType::int32, DType::int8));
  EXPECT_TRUE(middle_cast_is_exact(DType::float16, DType::float32, DType::float16));
  EXPECT_FALSE(middle_cast_is_exact(DType::float16, DType::bfloat16, DType::float16));
  EXPECT_FALSE(middle_cast_is_exact(DType::float32, DType::float16, DType::float32));
  EXPECT_FALSE(middle_cast_is_exact(DType::int32, DType::float32, DType::int32));
  EXPECT_FALSE(middle_cast_is_exact(DType::int8, DType::float32, DType::uint8));
  EXPECT_FALSE(middle_cast_is_exact(DType::int8, DType::uint16, DType::int32));
}

}  // namespace
}  // namespace lento::test

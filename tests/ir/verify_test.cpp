// Each rule of the graph's form, broken alone. docs/ir.md lists them.
#include "ir/example_graph.h"
#include "ir/op.h"
#include "ir/op_number.h"
#include "ir/shape_limit.h"

#include <lento/error.h>

#include <gtest/gtest.h>

#include <functional>

namespace lento::test {
namespace {

/// Breaks the example and expects the verifier to say so in these words.
void expect_broken(const std::function<void(Graph&)>& break_it, const std::string& message) {
  Graph graph = example_graph();
  ASSERT_NO_THROW(verify(graph));
  break_it(graph);
  try {
    verify(graph);
    FAIL() << "no error, expected: " << message;
  } catch (const BackendError& error) {
    EXPECT_EQ(std::string(error.what()), message);
  }
}

// Nodes of the example.
constexpr std::size_t kMultiply = 0;
constexpr std::size_t kSum = 1;
constexpr std::size_t kTopK = 2;
constexpr std::size_t kResult = 3;
constexpr std::size_t kSlice = 4;
constexpr std::size_t kConcatenate = 5;
constexpr std::size_t kFull = 7;

TEST(Verify, EachNodeHasASource) {
  expect_broken([](Graph& g) { g.sources.pop_back(); }, "the graph has 8 nodes but 7 sources");
}

TEST(Verify, InputsHaveATypeThatExists) {
  expect_broken([](Graph& g) { g.inputs[1].dtype = static_cast<DType>(15); }, "input %in1: 15 is not a dtype");
}

// Clause T2: one check for every op. A graph that names a shape that no tensor can have cannot even be made.
TEST(Verify, AShapeThatCannotBeCountedHasNoId) {
  constexpr std::int64_t kLong = std::int64_t{1} << 40;
  const auto message = [](const Shape& shape) {
    try {
      intern_shape(shape);
      return std::string("accepted");
    } catch (const ShapeError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(message({2, -3}), "the shape (2, -3) has a negative length");
  EXPECT_EQ(message({kLong, kLong}),
            "the shape (1099511627776, 1099511627776) is too large: a tensor has at most 144115188075855872 elements");
  EXPECT_NE(message({0, kLong, kLong}), "accepted");  // its strides cannot be counted either
  EXPECT_NE(message({kMostElements + 1}), "accepted");
  EXPECT_EQ(message({kMostElements}), "accepted");
  EXPECT_EQ(message({kMostElements, 0, 1}), "accepted");
  EXPECT_EQ(message({kLong, kLong}), message({kLong, kLong}));  // a refused shape is not remembered as a known one
}

TEST(Verify, NumbersHaveADtypeThatExists) {
  expect_broken([](Graph& g) { g.scalars[1].dtype = static_cast<DType>(200); }, "number $1: 200 is not a dtype");
}

TEST(Verify, TheOpExists) {
  expect_broken([](Graph& g) { g.nodes[kMultiply].op = static_cast<Op>(kMaxOps - 1); },
                "node %0: " + std::to_string(kMaxOps - 1) + " is not an op");
}

TEST(Verify, ALeafIsNotANode) {
  expect_broken([](Graph& g) { g.nodes[kMultiply].op = op::leaf; },
                "node %0: a leaf is an input of the graph, not a node");
}

TEST(Verify, NodesHaveATypeThatExists) {
  expect_broken([](Graph& g) { g.nodes[kSum].dtype = static_cast<DType>(15); }, "node %1: 15 is not a dtype");
}

TEST(Verify, PaddingIsZero) {
  expect_broken([](Graph& g) { g.nodes[kSum].padding = 1; }, "node %1: the padding is not zero");
}

TEST(Verify, OnlyResultsHaveAnIndex) {
  expect_broken([](Graph& g) { g.nodes[kSum].result_index = 1; }, "node %1: only a result has a result index");
}

TEST(Verify, AttributesAreThoseOfTheOp) {
  const auto with = [](std::initializer_list<std::int64_t> values) {
    return [values](Graph& g) { g.nodes[kSum].attrs = intern_attrs(std::span(values.begin(), values.size())); };
  };
  const std::string message = "node %1: the attributes are not those of reduce_sum";
  expect_broken(with({}), message);            // missing
  expect_broken(with({1, 0}), message);        // keepdims is missing
  expect_broken(with({1, 0, 0, 0}), message);  // one too many
  expect_broken(with({2, 0, 0}), message);     // the list is longer than what is there
  expect_broken(with({-1, 0}), message);       // a negative length
  expect_broken(with({1, 0, 2}), message);     // not a bool
  expect_broken([](Graph& g) { g.nodes[kResult].attrs = g.nodes[kSum].attrs; },
                "node %3: the attributes are not those of result");
}

TEST(Verify, DtypesAndChoicesAreInRange) {
  expect_broken([](Graph& g) { g.nodes[6].attrs = intern_attrs(Ints{15}); },
                "node %6: the attributes are not those of astype");
}

TEST(Verify, AttributesStandAsInferenceWritesThem) {
  const std::string message =
      "node %1: the attributes of reduce_sum are not as they are recorded: axes count from the front, lengths are "
      "computed";
  expect_broken([](Graph& g) { g.nodes[kSum].attrs = intern_attrs(Ints{1, -2, 0}); }, message);
}

TEST(Verify, ASliceHasAStartForEachAxis) {
  EXPECT_THROW(parse_graph("graph(%in0: float32(4,)) {\n"
                           "  %0 = strided_slice(%in0, axes=[0], sizes=[2], steps=[1]) : float32(2,)\n"
                           "  return %0\n}"),
               Error);
  EXPECT_THROW(parse_graph("graph(%in0: float32(4,); $0: int64 = 0) {\n"
                           "  %0 = strided_slice(%in0, $0, axes=[], sizes=[], steps=[]) : float32(4,)\n"
                           "  return %0\n}"),
               Error);
}

TEST(Verify, FewOperandsStandInTheRecord) {
  expect_broken([](Graph& g) { g.nodes[kMultiply].operand_count = 4; }, "node %0: 4 operands need a list");
  expect_broken([](Graph& g) { g.nodes[kConcatenate].operands[1].bits = 3; }, "node %5: 3 operands do not need a list");
}

TEST(Verify, OperandListsLieInside) {
  expect_broken([](Graph& g) { g.nodes[kConcatenate].operands[0].bits = 1; },
                "node %5: the operands lie outside of the operand lists");
  expect_broken([](Graph& g) { g.nodes[kConcatenate].operands[1].bits = 0xffffffff; },
                "node %5: the operands lie outside of the operand lists");
}

TEST(Verify, UnusedOperandsAreZero) {
  expect_broken([](Graph& g) { g.nodes[kSum].operands[2] = OperandRef::leaf(0); },
                "node %1: an unused operand is not zero");
  expect_broken([](Graph& g) { g.nodes[kConcatenate].operands[2].bits = 1; }, "node %5: an unused operand is not zero");
}

TEST(Verify, OperandsComeBefore) {
  expect_broken([](Graph& g) { g.nodes[kSum].operands[0] = OperandRef::record(1); },
                "node %1: the operand %1 does not come before it");
  expect_broken([](Graph& g) { g.nodes[kSum].operands[0] = OperandRef::record(4); },
                "node %1: the operand %4 does not come before it");
}

TEST(Verify, OperandsExist) {
  expect_broken([](Graph& g) { g.nodes[kMultiply].operands[0] = OperandRef::leaf(2); },
                "node %0: there is no input %in2");
  expect_broken([](Graph& g) { g.nodes[kMultiply].operands[1] = OperandRef::scalar(2); },
                "node %0: there is no number $2");
  expect_broken([](Graph& g) { g.nodes[kMultiply].operands[1].bits = 3U << 30; },
                "node %0: an operand is neither a node nor an input nor a number");
}

TEST(Verify, TheNumberOfOperandsFitsTheOp) {
  expect_broken(
      [](Graph& g) {
        g.nodes[kMultiply].operand_count = 1;
        g.nodes[kMultiply].operands[1] = {};
      },
      "node %0: multiply takes 2 operands, got 1");
  expect_broken(
      [](Graph& g) {
        g.nodes[kSum].operand_count = 2;
        g.nodes[kSum].operands[1] = OperandRef::leaf(0);
      },
      "node %1: reduce_sum takes 1 operand, got 2");
  expect_broken(
      [](Graph& g) {
        g.nodes[kSlice].operand_count = 0;
        g.nodes[kSlice].operands[0] = g.nodes[kSlice].operands[1] = {};
      },
      "node %4: strided_slice takes at least 1 operand, got 0");
}

TEST(Verify, TensorsAndNumbersStandWhereTheyBelong) {
  expect_broken([](Graph& g) { g.nodes[kSum].operands[0] = OperandRef::scalar(0); },
                "node %1: reduce_sum takes a tensor for x, got the number $0");
  expect_broken([](Graph& g) { g.nodes[kFull].operands[0] = OperandRef::leaf(0); },
                "node %7: full takes a number for fill_value, got the tensor %in0");
  expect_broken([](Graph& g) { g.nodes[kSlice].operands[1] = OperandRef::leaf(0); },
                "node %4: strided_slice takes a number for starts, got the tensor %in0");
  expect_broken([](Graph& g) { g.operand_lists[1] = OperandRef::scalar(0); },
                "node %5: concatenate takes a tensor for xs, got the number $0");
}

TEST(Verify, RecordedTypesAreTheInferredOnes) {
  expect_broken([](Graph& g) { g.nodes[kMultiply].dtype = DType::float64; },
                "node %0: multiply gives float32(2, 3), not float64(2, 3)");
  expect_broken([](Graph& g) { g.nodes[kSum].shape = intern_shape(Shape{2}); },
                "node %1: reduce_sum gives float32(3,), not float32(2,)");
}

TEST(Verify, WhatInferenceRefusesIsRefused) {
  expect_broken([](Graph& g) { g.nodes[kSum].attrs = intern_attrs(Ints{1, 2, 0}); },
                "node %1: reduce_sum: axis 2 is out of range for float32(2, 3): it must be from -2 to 1");
}

TEST(Verify, NumbersOfElementwiseOpsHaveTheirDtype) {
  Graph graph = example_graph();
  graph.scalars[0].dtype = DType::float64;
  EXPECT_THROW(verify(graph), BackendError);
}

TEST(Verify, AResultHasOneOperand) {
  expect_broken([](Graph& g) { g.nodes[kResult].operands[0] = OperandRef::leaf(0); },
                "node %3: a result has one operand, the node of its op");
  expect_broken(
      [](Graph& g) {
        g.nodes[kResult].operand_count = 0;
        g.nodes[kResult].operands[0] = {};
      },
      "node %3: a result has one operand, the node of its op");
}

TEST(Verify, AResultBelongsToAnOp) {
  expect_broken(
      [](Graph& g) {
        g.nodes[kSlice] = g.nodes[kResult];
        g.nodes[kSlice].operands[0] = OperandRef::record(kResult);
      },
      "node %4: a result belongs to an op, not to another result");
}

TEST(Verify, TheResultExists) {
  expect_broken([](Graph& g) { g.nodes[kResult].result_index = 2; }, "node %3: top_k has no result 2: it has 2");
  expect_broken([](Graph& g) { g.nodes[kResult].result_index = 0; }, "node %3: top_k has no result 0: it has 2");
}

TEST(Verify, ResultsFollowTheirOp) {
  // Once more, behind another node.
  expect_broken([](Graph& g) { g.nodes[kFull] = g.nodes[kResult]; },
                "node %7: results follow their op directly, in order");
  // Twice the same.
  expect_broken([](Graph& g) { g.nodes[kSlice] = g.nodes[kResult]; },
                "node %4: results follow their op directly, in order");
}

TEST(Verify, ResultTypesAreTheInferredOnes) {
  expect_broken([](Graph& g) { g.nodes[kResult].dtype = DType::int32; },
                "node %3: result 1 of top_k is int64(2,), not int32(2,)");
}

TEST(Verify, OutputsExist) {
  expect_broken([](Graph& g) { g.outputs.back() = 8; }, "output %8 is not a node");
}

TEST(Verify, OutputsStandInOrder) {
  expect_broken([](Graph& g) { g.outputs = {6, 3}; },
                "output %3 follows %6: outputs stand in the order of nodes, each once");
  expect_broken([](Graph& g) { g.outputs = {6, 6}; },
                "output %6 follows %6: outputs stand in the order of nodes, each once");
}

TEST(Verify, TheCallersContextIsLeftAlone) {
  const CallScope scope("dump", Source::from_text("user.py", 3));
  Graph graph = example_graph();
  graph.nodes[kSum].attrs = intern_attrs(Ints{1, 2, 0});
  try {
    verify(graph);
    FAIL();
  } catch (const BackendError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "dump: node %1: reduce_sum: axis 2 is out of range for float32(2, 3): it must be from -2 to 1, at user.py:3");
  }
  EXPECT_EQ(call_context().op, "dump");
}

TEST(Graph, TypesOfOperands) {
  const Graph graph = example_graph();
  EXPECT_EQ(graph.meta_of(OperandRef::leaf(0)), (Meta{DType::float32, {2, 3}}));
  EXPECT_EQ(graph.meta_of(OperandRef::record(3)), (Meta{DType::int64, {2}}));
  EXPECT_EQ(graph.meta_of(OperandRef::scalar(1)), (Meta{DType::int64, {}}));
  EXPECT_EQ(graph.operands(graph.nodes[kConcatenate]).size(), 4U);
  EXPECT_EQ(graph.operands(graph.nodes[kTopK]).size(), 1U);
}

}  // namespace
}  // namespace lento::test

// Slices of a node that begin at numbers of a run: which ones lie outside, and what is said of them.
#include "ir/slices.h"

#include <lento/error.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lento {
namespace {

/// What is said of the only node of a graph with these numbers; empty when it lies inside.
std::string said_of(const std::string& inputs, const std::string& node, const std::vector<Scalar>& numbers) {
  const Graph graph = parse_graph("graph(" + inputs + ") {\n  %0 = " + node + "\n  return %0\n}\n");
  const Record& record = graph.nodes[0];
  std::vector<Meta> operands;
  for (const OperandRef operand : graph.operands(record)) operands.push_back(graph.meta_of(operand));
  const Meta result{record.dtype, shape_of(record.shape)};
  try {
    require_inside(record.op, record.attrs, operands, {&result, 1}, numbers);
  } catch (const IndexError& error) {
    return error.what();
  }
  return "";
}

TEST(Slices, E7_ASliceOutsideIsNamedWithItsStart) {
  const std::string inputs = "%in0: float32(5,); $0: int64 = 0";
  const std::string node = "strided_slice(%in0, $0, axes=[0], sizes=[2], steps=[2]) : float32(2,)";
  EXPECT_EQ(said_of(inputs, node, {2}), "");
  EXPECT_EQ(said_of(inputs, node, {3}), "a slice of 2 elements from 3 with step 2 leaves axis 0 of length 5");
  EXPECT_EQ(said_of(inputs, node, {5}), "slice start 5 is out of range for axis 0 of length 5");
  EXPECT_EQ(said_of(inputs, node, {-1}), "slice start -1 is out of range for axis 0 of length 5");
}

TEST(Slices, E7_AnUpdateLiesWhereItsValueGoes) {
  const std::string inputs = "%in0: float32(5,), %in1: float32(2,); $0: int64 = 0";
  const std::string node = "strided_update(%in0, %in1, $0, axes=[0], steps=[1]) : float32(5,)";
  EXPECT_EQ(said_of(inputs, node, {3}), "");
  EXPECT_EQ(said_of(inputs, node, {4}), "a slice of 2 elements from 4 with step 1 leaves axis 0 of length 5");
}

TEST(Slices, E7_MemoryIsReadByStridesInsideItsElements) {
  const std::string inputs = "%in0: float32(5,); $0: int64 = 0";
  const std::string node = "as_strided(%in0, $0, sizes=[2, 2], strides=[1, 2]) : float32(2, 2)";
  EXPECT_EQ(said_of(inputs, node, {1}), "");
  EXPECT_EQ(said_of(inputs, node, {2}),
            "sizes (2, 2) with strides (1, 2) from 2 on reach outside of the 5 elements along the last axis");
}

TEST(Slices, OtherOpsHaveNone) { EXPECT_EQ(said_of("%in0: float32(5,)", "exp(%in0) : float32(5,)", {}), ""); }

}  // namespace
}  // namespace lento

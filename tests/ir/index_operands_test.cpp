// Which operands are indices, and what is said of one that does not exist.
#include "ir/index_operands.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace lento {
namespace {

struct Found {
  std::uint32_t operand;
  std::int64_t axis;
  std::int64_t extent;
  friend bool operator==(const Found&, const Found&) = default;
};

/// Those of the only node of a graph.
std::vector<Found> found_in(const std::string& inputs, const std::string& node) {
  const Graph graph = parse_graph("graph(" + inputs + ") {\n  %0 = " + node + "\n  return %0\n}\n");
  std::vector<Found> found;
  for (const IndexOperand& it : index_operands(graph, graph.nodes[0])) {
    found.push_back({it.operand, it.axis, it.extent});
  }
  return found;
}

TEST(IndexOperands, OfGathersAndScattersAndOfNothingElse) {
  const std::string x = "%in0: float32(4, 3), ";
  EXPECT_EQ(found_in(x + "%in1: int64(2,)", "take_axis(%in0, %in1, axis=1) : float32(4, 2)"),
            (std::vector<Found>{{1, 1, 3}}));
  EXPECT_EQ(found_in(x + "%in1: int32(2, 3)", "take_along_axis(%in0, %in1, axis=0) : float32(2, 3)"),
            (std::vector<Found>{{1, 0, 4}}));
  EXPECT_EQ(found_in(x + "%in1: int64(5,), %in2: uint8(5,)", "gather_nd(%in0, %in1, %in2) : float32(5,)"),
            (std::vector<Found>{{1, 0, 4}, {2, 1, 3}}));
  EXPECT_EQ(found_in(x + "%in1: int64(2, 3), %in2: float32(2, 3)",
                     "scatter_axis(%in0, %in1, %in2, axis=0, mode=add) : float32(4, 3)"),
            (std::vector<Found>{{1, 0, 4}}));
  EXPECT_EQ(
      found_in(x + "%in1: float32(5, 3), %in2: int64(5,)", "scatter_nd(%in0, %in1, %in2, mode=set) : float32(4, 3)"),
      (std::vector<Found>{{2, 0, 4}}));
  EXPECT_EQ(found_in("%in0: float32(4, 3)", "exp(%in0) : float32(4, 3)"), std::vector<Found>{});
}

TEST(IndexOperands, E7_AnIndexIsNamedAsItWasGiven) {
  const auto said = [](DType dtype, std::uint64_t bits) { return bad_index(dtype, bits, 1, 3).message; };
  EXPECT_EQ(said(DType::int64, 7), "index 7 is out of range for axis 1 of length 3");
  EXPECT_EQ(said(DType::int8, static_cast<std::uint64_t>(-4)), "index -4 is out of range for axis 1 of length 3");
  EXPECT_EQ(said(DType::uint64, std::numeric_limits<std::uint64_t>::max()),
            "index 18446744073709551615 is out of range for axis 1 of length 3");
  EXPECT_EQ(bad_index(DType::int64, 7, 1, 3).kind, ErrorKind::index);
}

}  // namespace
}  // namespace lento

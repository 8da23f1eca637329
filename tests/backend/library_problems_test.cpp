// What libraries are asked for, as it stands in graphs.
#include "backend/library_problems.h"

#include "ir/graph.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace lento::test {
namespace {

const Record& last(const Graph& graph) { return graph.nodes.back(); }

TEST(LibraryProblems, AProductReadsItsOperandsAsTheyLie) {
  const Graph graph = parse_graph(R"(graph(%in0: float32(5, 2, 3), %in1: float32(4, 3)) {
  %0 = permute_dims(%in1, axes=[1, 0]) : float32(3, 4)
  %1 = matrix_multiply(%in0, %0) : float32(5, 2, 4)
  return %1
}
)");
  const std::span<const OperandRef> operands = graph.operands(last(graph));
  const View a = whole(operands[0], graph.meta_of(operands[0]).shape);
  const View b{.base = OperandRef::leaf(1), .strides = {1, 3}, .starts = {}, .picked = {}};
  const std::vector<View> views = {a, b};
  const std::optional<MatmulProblem> problem = MatmulProblem::of(graph, last(graph), views);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->batch, (Ints{5}));
  EXPECT_EQ(problem->m, 2);
  EXPECT_EQ(problem->n, 4);
  EXPECT_EQ(problem->k, 3);
  EXPECT_EQ(problem->a.batch, (Ints{6}));
  EXPECT_EQ(problem->a.row, 3);
  EXPECT_EQ(problem->a.column, 1);
  EXPECT_EQ(problem->b.batch, (Ints{0}));
  EXPECT_EQ(problem->b.row, 1);
  EXPECT_EQ(problem->b.column, 3);
}

TEST(LibraryProblems, MatricesThatShareOneFactorAreOneWithMoreRows) {
  MatmulProblem problem = MatmulProblem::of(DType::float32, {5, 1, 7, 2, 3}, {3, 4});
  problem.merge_batch();
  EXPECT_TRUE(problem.batch.empty());
  EXPECT_EQ(problem.m, 5 * 7 * 2);
  EXPECT_EQ(problem.a.row, 3);
}

TEST(LibraryProblems, BatchAxesAreJoinedOnlyWhereBothOperandsWalkOverThemLikeOne) {
  MatmulProblem same = MatmulProblem::of(DType::float32, {5, 7, 2, 3}, {5, 7, 3, 4});
  same.merge_batch();
  EXPECT_EQ(same.batch, (Ints{35}));
  EXPECT_EQ(same.a.batch, (Ints{6}));
  EXPECT_EQ(same.b.batch, (Ints{12}));
  MatmulProblem repeated = MatmulProblem::of(DType::float32, {5, 7, 2, 3}, {7, 3, 4});
  repeated.merge_batch();
  EXPECT_EQ(repeated.batch, (Ints{5, 7}));
  EXPECT_EQ(repeated.b.batch, (Ints{0, 12}));
}

TEST(LibraryProblems, AProductOfMixedTypesIsNone) {
  Graph graph = parse_graph(R"(graph(%in0: float32(2, 3), %in1: float32(3, 4)) {
  %0 = matrix_multiply(%in0, %in1) : float32(2, 4)
  return %0
}
)");
  const std::vector<View> views = {whole(OperandRef::leaf(0), {2, 3}), whole(OperandRef::leaf(1), {3, 4})};
  EXPECT_TRUE(MatmulProblem::of(graph, last(graph), views));
  graph.inputs[1].dtype = DType::float64;
  EXPECT_FALSE(MatmulProblem::of(graph, last(graph), views));
}

TEST(LibraryProblems, ATransformIsAlongTheMiddleOfThreeAxes) {
  const Graph graph = parse_graph(R"(graph(%in0: float32(2, 6, 5, 7)) {
  %0 = fft_r2c(%in0, axis=1) : complex64(2, 4, 5, 7)
  return %0
}
)");
  const FftProblem problem = FftProblem::of(graph, last(graph));
  EXPECT_EQ(problem.kind, FftKind::real_to_complex);
  EXPECT_EQ(problem.dtype, DType::float32);
  EXPECT_EQ(problem.outer, 2);
  EXPECT_EQ(problem.size, 6);
  EXPECT_EQ(problem.inner, 35);
}

}  // namespace
}  // namespace lento::test

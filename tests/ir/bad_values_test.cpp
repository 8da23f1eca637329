// What is said of values that are bad, and which one of several is told.
#include "ir/bad_values.h"

#include "ir/op_linalg.gen.h"
#include "ir/op_sort.gen.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace lento {
namespace {

TEST(BadValues, E7_AMatrixIsNamedWithItsPlaceInTheBatch) {
  const auto said = [](Op op, std::int64_t matrix, std::int64_t number, const Shape& shape) {
    const BadValue bad = bad_value(op, matrix_word(matrix, number), shape, shape);
    EXPECT_EQ(bad.kind, ErrorKind::linalg);
    return bad.message;
  };
  EXPECT_EQ(said(op::linear_solve, 0, 2, {3, 3}), "the matrix is singular");
  EXPECT_EQ(said(op::linear_solve, 0, 2, {1, 1, 3, 3}), "the matrix is singular");
  EXPECT_EQ(said(op::linear_solve, 5, 2, {2, 4, 3, 3}), "the matrix is singular (matrix 5 of the batch)");
  EXPECT_EQ(
      said(op::cholesky_factor, 1, 3, {2, 3, 3}),
      "the matrix is not positive definite: its leading minor of order 3 is not positive (matrix 1 of the batch)");
  EXPECT_EQ(said(op::svd_factor, 0, 1, {3, 2}), "the singular values did not converge");
  EXPECT_EQ(said(op::eigh_factor, 0, 1, {3, 3}), "the eigenvalues did not converge");
  EXPECT_EQ(said(op::eig_factor, 0, 1, {3, 3}), "the eigenvalues did not converge");
  EXPECT_EQ(said(op::eig_factor, 0, kNotFinite, {3, 3}), "the matrix contains nan or inf");
}

TEST(BadValues, E7_ACountIsNamedWithTheOneThatWasExpected) {
  for (const std::int64_t found : {0, 7}) {
    const BadValue bad = bad_value(op::flat_nonzero, count_word(found), Shape{9}, Shape{3});
    EXPECT_EQ(bad.message, std::to_string(found) + " elements differ from zero, expected 3");
    EXPECT_EQ(bad.kind, ErrorKind::value);
  }
}

TEST(BadValues, D4_TheGreatestWordIsThatOfTheFirstMatrix) {
  const std::int64_t last = (std::int64_t{1} << 40) - 2;
  EXPECT_GT(matrix_word(0, kNotFinite), matrix_word(1, 1));
  EXPECT_GT(matrix_word(last - 1, 1), matrix_word(last, (1 << 24) - 1));
  EXPECT_NE(matrix_word(last, kNotFinite), 0) << "zero says that nothing is wrong";
}

}  // namespace
}  // namespace lento

#include "ir/bad_values.h"

#include "base/format.h"
#include "ir/op.h"
#include "ir/op_linalg.gen.h"
#include "ir/op_sort.gen.h"

namespace lento {

namespace {

constexpr unsigned kNumberBits = 24;
constexpr std::uint64_t kMostMatrices = (std::uint64_t{1} << 40) - 1;

std::string bad_matrix(Op op, std::uint64_t lapack_number) {
  if (lapack_number == static_cast<std::uint64_t>(kNotFinite)) return "the matrix contains nan or inf";
  switch (op) {
    case op::cholesky_factor:
      return fmt::format("the matrix is not positive definite: its leading minor of order {} is not positive",
                         lapack_number);
    case op::svd_factor:
      return "the singular values did not converge";
    case op::linear_solve:
      return "the matrix is singular";
    default:
      return "the eigenvalues did not converge";
  }
}

}  // namespace

bool has_value_word(Op op) { return op == op::flat_nonzero || info(op).family == Family::linalg; }

std::uint64_t count_word(std::int64_t found) { return static_cast<std::uint64_t>(found) + 1; }

std::uint64_t matrix_word(std::int64_t matrix, std::int64_t lapack_number) {
  return (kMostMatrices - static_cast<std::uint64_t>(matrix)) << kNumberBits |
         static_cast<std::uint64_t>(lapack_number);
}

BadValue bad_value(Op op, std::uint64_t word, const Shape& operand, const Shape& result) {
  if (op == op::flat_nonzero) {
    return {ErrorKind::value, fmt::format("{} elements differ from zero, expected {}", word - 1, result[0])};
  }
  std::string message = bad_matrix(op, word & ((std::uint64_t{1} << kNumberBits) - 1));
  if (element_count(operand.span().first(operand.size() - 2)) != 1) {
    message += fmt::format(" (matrix {} of the batch)", kMostMatrices - (word >> kNumberBits));
  }
  return {ErrorKind::linalg, std::move(message)};
}

}  // namespace lento

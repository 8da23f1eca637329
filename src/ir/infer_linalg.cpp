// Shapes and dtypes of the factorisations and solvers.
#include "base/fail.h"
#include "ir/attrs_linalg.gen.h"
#include "ir/infer_common.h"
#include "ir/infer_linalg.gen.h"

#include <algorithm>
#include <limits>

namespace lento {

namespace {

/// Throws unless `x` is a batch of matrices of a dtype that LAPACK has.
void require_matrices(const Meta& x, std::string_view what) {
  if (is_half(x.dtype))
    fail<DTypeError>("{} is {}, which has no linear algebra: convert it to float32 first", what, type_text(x));
  if (!is_floating(x.dtype) && !is_complex(x.dtype))
    fail<DTypeError>("{} must be floating or complex, got {}", what, type_text(x));
  if (x.shape.size() < 2) fail<ShapeError>("{} must have at least two axes, got {}", what, type_text(x));
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();  // LAPACK counts in 32 bits
  if (x.shape[x.shape.size() - 2] > kLargest || x.shape.back() > kLargest) {
    fail<ShapeError>("the matrices of {} are too large for LAPACK", type_text(x));
  }
}

void require_square(const Meta& x, std::string_view what) {
  require_matrices(x, what);
  if (x.shape[x.shape.size() - 2] != x.shape.back())
    fail<ShapeError>("{} must be square in its last two axes, got {}", what, type_text(x));
}

std::int64_t rows_of(const Meta& x) { return x.shape[x.shape.size() - 2]; }
std::int64_t columns_of(const Meta& x) { return x.shape.back(); }

/// The batch axes of `x` followed by these.
Meta batch_of(const Meta& x, DType dtype, std::initializer_list<std::int64_t> extents) {
  Shape shape(x.shape.begin(), x.shape.end() - 2);
  for (const std::int64_t extent : extents) shape.push_back(extent);
  return {dtype, shape};
}

Meta infer_solution(const Meta& a, const Meta& b) {
  require_square(a, "a");
  require_same_dtype(a, "a", b, "b");
  require_matrices(b, "b");
  if (!std::equal(a.shape.begin(), a.shape.end() - 1, b.shape.begin(), b.shape.end() - 1)) {
    fail<ShapeError>("a and b must have the same batch axes and rows, got {} and {}", type_text(a), type_text(b));
  }
  return b;
}

}  // namespace

Meta infer_cholesky_factor(const Meta& x) {
  require_square(x, "x");
  return x;
}

std::array<Meta, 2> infer_qr_factor(const Meta& x, QrFactorAttrs& attrs) {
  require_matrices(x, "x");
  const std::int64_t inner = attrs.complete ? rows_of(x) : std::min(rows_of(x), columns_of(x));
  return {batch_of(x, x.dtype, {rows_of(x), inner}), batch_of(x, x.dtype, {inner, columns_of(x)})};
}

std::array<Meta, 3> infer_svd_factor(const Meta& x, SvdFactorAttrs& attrs) {
  require_matrices(x, "x");
  const std::int64_t rank = std::min(rows_of(x), columns_of(x));
  const std::int64_t u_columns = attrs.full_matrices ? rows_of(x) : rank;
  const std::int64_t vh_rows = attrs.full_matrices ? columns_of(x) : rank;
  return {batch_of(x, x.dtype, {rows_of(x), u_columns}), batch_of(x, real_type(x.dtype), {rank}),
          batch_of(x, x.dtype, {vh_rows, columns_of(x)})};
}

std::array<Meta, 2> infer_eigh_factor(const Meta& x) {
  require_square(x, "x");
  return {batch_of(x, real_type(x.dtype), {rows_of(x)}), x};
}

std::array<Meta, 2> infer_eig_factor(const Meta& x) {
  require_square(x, "x");
  const DType dtype = complex_type(x.dtype);
  return {batch_of(x, dtype, {rows_of(x)}), Meta{dtype, x.shape}};
}

std::array<Meta, 2> infer_lu_factor(const Meta& x) {
  require_matrices(x, "x");
  return {x, batch_of(x, DType::int32, {std::min(rows_of(x), columns_of(x))})};
}

Meta infer_linear_solve(const Meta& a, const Meta& b) { return infer_solution(a, b); }

Meta infer_triangular_solve(const Meta& a, const Meta& b, TriangularSolveAttrs&) { return infer_solution(a, b); }

}  // namespace lento

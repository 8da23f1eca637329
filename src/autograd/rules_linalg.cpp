// Derivatives of factorisations and solvers, over the last two axes. H is the conjugate transpose.
#include "autograd/rules.h"
#include "autograd/rules_linalg.calls.gen.h"
#include "base/fail.h"
#include "ops/composite_helpers.h"

namespace lento::rules {

namespace {

Tensor H(const Tensor& x) { return conjugated(matrix_transpose(x)); }
Tensor product(const Tensor& a, const Tensor& b) { return prim::matrix_multiply(a, b); }
std::int64_t rows_of(const Tensor& x) { return x.shape()[x.shape().size() - 2]; }
std::int64_t columns_of(const Tensor& x) { return x.shape().back(); }
Tensor row(const Tensor& x) { return composite::with_axis(x, x.rank() - 1); }
Tensor column(const Tensor& x) { return composite::with_axis(x, x.rank()); }

/// A bool matrix that is true on the diagonal.
Tensor on_diagonal(std::int64_t n, Device device) {
  const Tensor place = composite::counting(n, device);
  return equal(row(place), column(place));
}

Tensor diagonal_matrix(const Tensor& x) { return diag_embed(x); }

/// `x` with the diagonal halved: what a triangle of a Hermitian matrix stands for.
Tensor half_diagonal(const Tensor& x) { return where(on_diagonal(columns_of(x), x.device()), 0.5 * x, x); }

/// b @ inverse of triangular a, or of its conjugate transpose.
Tensor divide_right(const Tensor& b, const Tensor& a, bool upper, bool hermitian) {
  // y a = b is a^T y^T = b^T; y a^H = b is conjugated(a) y^T = b^T.
  const Tensor solution =
      prim::triangular_solve(hermitian ? conjugated(a) : a, matrix_transpose(b), upper, !hermitian, false);
  return matrix_transpose(solution);
}

/// 1 / (x_j - x_i) beside the diagonal, 0 on it.
Tensor inverse_differences(const Tensor& x) {
  const Tensor diagonal = on_diagonal(columns_of(x), x.device());
  return where(diagonal, 0, 1 / where(diagonal, 1, row(x) - column(x)));
}

}  // namespace

Tensor cholesky(const Tensor& grad, const Tensor& factor) {
  const Tensor middle = half_diagonal(tril(product(H(factor), grad)));
  const Tensor left = prim::triangular_solve(conjugated(factor), middle, false, true, false);
  const Tensor both = divide_right(left, factor, false, false);
  return 0.5 * (both + H(both));
}

Tensor qr(const Tensor& given_q, const Tensor& given_r, const Tensor& q, const Tensor& r, const Tensor& x,
          bool complete) {
  const std::int64_t m = rows_of(x);
  const std::int64_t n = columns_of(x);
  if (complete && m > n) {
    fail<ValueError>(
        "the complete QR factorisation of a matrix with more rows than columns has no derivative: its last "
        "columns are arbitrary; use mode='reduced'");
  }
  const Tensor grad_q = given_q.defined() ? given_q : zeros_like(q);
  const Tensor grad_r = given_r.defined() ? given_r : zeros_like(r);
  const auto of_square = [](const Tensor& gq, const Tensor& gr, const Tensor& unitary, const Tensor& upper) {
    const Tensor above = triu(product(gr, H(upper)) - product(H(unitary), gq));
    const Tensor hermitian = half_diagonal(above + H(above));
    return divide_right(gq + product(unitary, hermitian), upper, true, true);
  };
  if (m >= n) return of_square(grad_q, triu(grad_r), q, r);
  // Wide: the first m columns are factorised, the others are q times what is left of r.
  const std::int64_t last = x.rank() - 1;
  const auto first = [&](const Tensor& t) { return composite::sliced(t, last, 0, m); };
  const auto rest = [&](const Tensor& t) { return composite::sliced(t, last, m, n - m); };
  const Tensor grad_rest = rest(grad_r);
  const Tensor through = grad_q + product(rest(x), H(grad_rest));
  const Tensor left = of_square(through, triu(first(grad_r)), q, first(r));
  return prim::concatenate({left, product(q, grad_rest)}, last);
}

Tensor svd(const Tensor& grad_u, const Tensor& grad_s, const Tensor& grad_vh, const Tensor& u, const Tensor& s,
           const Tensor& vh, bool full_matrices) {
  const std::int64_t m = rows_of(u);
  const std::int64_t n = columns_of(vh);
  const std::int64_t k = s.shape().back();
  if (full_matrices && m != n) {
    fail<ValueError>(
        "the full singular vectors of a matrix that is not square have no derivative: some are arbitrary; "
        "use full_matrices=False");
  }
  // Terms of what did not come back are left out: singular values have a derivative where vectors have none.
  const Tensor v = H(vh);
  const Tensor wide_s = composite::converted(s, u.dtype());
  const auto skew = [](const Tensor& x) { return x - H(x); };
  const auto factors = [&] { return composite::converted(inverse_differences(s * s), u.dtype()); };
  Tensor core = diagonal_matrix(grad_s.defined() ? composite::converted(grad_s, u.dtype()) : zeros_like(wide_s));
  if (grad_u.defined()) {
    const Tensor from_u = product(H(u), grad_u);
    core = core + skew(from_u) * factors() * row(wide_s);
    if (is_complex(u.dtype())) {
      // The phases that u and v share are arbitrary; what is left of them is along the imaginary axis.
      const Tensor phase = imag(lento::diagonal(from_u, 0, -2, -1)) / s;
      core = core + diagonal_matrix(complex(zeros_like(phase), phase));
    }
  }
  if (grad_vh.defined()) core = core + column(wide_s) * (skew(product(H(v), H(grad_vh))) * factors());
  Tensor result = product(product(u, core), vh);
  if (m > k && grad_u.defined()) {
    const Tensor scaled = grad_u / row(wide_s);
    result = result + product(scaled - product(u, product(H(u), scaled)), vh);
  }
  if (n > k && grad_vh.defined()) {
    const Tensor scaled = grad_vh / column(wide_s);
    result = result + product(u, scaled - product(product(scaled, v), vh));
  }
  return result;
}

Tensor eigh(const Tensor& grad_w, const Tensor& grad_v, const Tensor& w, const Tensor& v) {
  Tensor core = diagonal_matrix(composite::converted(grad_w.defined() ? grad_w : zeros_like(w), v.dtype()));
  if (grad_v.defined()) {
    core = core + product(H(v), grad_v) * composite::converted(inverse_differences(w), v.dtype());
  }
  const Tensor result = product(product(v, core), H(v));
  return 0.5 * (result + H(result));
}

Tensor eig(const Tensor& grad_w, const Tensor& grad_v, const Tensor& w, const Tensor& v) {
  Tensor core = diagonal_matrix(grad_w.defined() ? grad_w : zeros_like(w));
  if (grad_v.defined()) {
    const Tensor through = product(H(v), grad_v);
    // The eigenvectors' lengths are fixed: what would only change them does not count.
    const Tensor along = composite::converted(real(lento::diagonal(through, 0, -2, -1)), v.dtype());
    core = core + (through - product(H(v), v) * row(along)) * conjugated(inverse_differences(w));
  }
  return prim::linear_solve(H(v), product(core, H(v)));
}

Tensor lu(const Tensor& grad_lu, const Tensor& lu, const Tensor& x) {
  if (rows_of(x) != columns_of(x)) fail<ValueError>("only square LU factorisations have a derivative");
  // x = P L U. P^-1 x is L U, so the permutation is read off as x (L U)^-1, which is exact except for rounding.
  const Tensor identity = composite::converted(on_diagonal(columns_of(x), x.device()), x.dtype());
  const Tensor lower = tril(lu, -1) + identity;
  const Tensor upper = triu(lu);
  const Tensor core = tril(product(H(lower), tril(grad_lu, -1)), -1) + triu(product(triu(grad_lu), H(upper)));
  const Tensor left = prim::triangular_solve(conjugated(lower), core, false, true, true);
  const Tensor both = divide_right(left, upper, true, true);
  const Tensor permutation = divide_right(divide_right(x, upper, true, false), lower, false, false);
  return product(permutation, both);
}

Tensor solve_right(const Tensor& grad, const Tensor& a) { return prim::linear_solve(H(a), grad); }

Tensor solve_matrix(const Tensor& grad, const Tensor& a, const Tensor& result) {
  return -product(solve_right(grad, a), H(result));
}

Tensor triangular_right(const Tensor& grad, const Tensor& a, bool upper, bool transpose, bool unit_diagonal) {
  return prim::triangular_solve(conjugated(a), grad, upper, !transpose, unit_diagonal);
}

Tensor triangular_matrix(const Tensor& grad, const Tensor& a, const Tensor& result, bool upper, bool transpose,
                         bool unit_diagonal) {
  const Tensor right = triangular_right(grad, a, upper, transpose, unit_diagonal);
  const Tensor whole = transpose ? -product(conjugated(result), matrix_transpose(right)) : -product(right, H(result));
  const std::int64_t beside = unit_diagonal ? 1 : 0;
  return upper ? triu(whole, beside) : tril(whole, -beside);
}

}  // namespace lento::rules

// Factorisations, solving and functions of matrices (ops/linalg.yaml). LAPACK knows no half types, so that those are
// computed in float32 and rounded once at the end.
#include <lento/differentiation.h>

#include "base/fail.h"
#include "ops/cofactors.h"
#include "ops/composite_helpers.h"
#include "ops/linalg.calls.gen.h"
#include "ops/record_limit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace lento::composite {

namespace {

void require_matrix(const Tensor& x) { require_rank(x, 2, "a matrix"); }

void require_square(const Tensor& x) {
  require_matrix(x);
  const std::size_t rank = x.shape().size();
  if (x.shape()[rank - 1] != x.shape()[rank - 2]) fail<ShapeError>("{} is not square in its last two axes", type_of(x));
}

std::int64_t rows_of(const Tensor& x) { return x.shape()[x.shape().size() - 2]; }
std::int64_t columns_of(const Tensor& x) { return x.shape().back(); }

Tensor conjugate_transpose(const Tensor& x) { return swap_last(is_complex(x.dtype()) ? conj(x) : x); }

Tensor identity_like(const Tensor& x) {
  return broadcast(lento::eye(rows_of(x), std::nullopt, 0, x.dtype(), x.device()), x.shape());
}

double epsilon_of(DType dtype) {
  switch (real_type(dtype)) {
    case DType::float16:
      return 0x1p-10;
    case DType::bfloat16:
      return 0x1p-7;
    case DType::float64:
      return 0x1p-52;
    default:
      return 0x1p-23;
  }
}

/// Both with the same batch axes.
struct Pair {
  Tensor a, b;
};

Pair with_common_batch(const Tensor& a, const Tensor& b) {
  const auto batch = [](const Tensor& x) {
    return prim::full(Shape(x.shape().begin(), x.shape().end() - 2), false, DType::bool_, x.device());
  };
  const std::vector<Tensor> batches{batch(a), batch(b)};
  const Shape shape = common_shape(batches);
  const auto spread = [&](const Tensor& x) {
    Shape full_shape = shape;
    full_shape.push_back(rows_of(x));
    full_shape.push_back(columns_of(x));
    return broadcast(x, full_shape);
  };
  return {spread(a), spread(b)};
}

/// Checks the sides of a linear system: square a and as many rows in b.
void require_system(const Tensor& a, const Tensor& b) {
  require_square(a);
  require_matrix(b);
  if (rows_of(a) != rows_of(b))
    fail<ShapeError>("the right-hand side {} has not as many rows as {}", type_of(b), type_of(a));
}

struct Diagonalised {
  Tensor diagonal;  // of the upper factor
  Tensor sign;      // of the row exchanges, 1 or -1
};

Diagonalised factorised(const Tensor& x) {
  // LAPACK divides by pivots in some places by multiplying with what 1 divided by them is, which is no number for the
  // least ones. A power of two for a column changes nothing else, neither the order of rows nor a digit.
  const bool is_double = real_type(x.dtype()) == DType::float64;
  const Tensor largest = prim::reduce_max(abs(stop_gradient(x)), Ints{x.rank() - 2}, true);
  const Tensor factor = converted(where(less(largest, is_double ? 0x1p-900 : 0x1p-100), is_double ? 0x1p120 : 0x1p60,
                                        number_tensor(1, real_type(x.dtype()), x.device())),
                                  x.dtype());
  const auto [lu, pivots] = prim::lu_factor(multiply(x, factor));
  const std::int64_t order = rows_of(x);
  const Tensor exchanged = not_equal(pivots, counting(order, x.device(), DType::int32));
  const Tensor sign = prim::reduce_prod(where(exchanged, -1.0, number_tensor(1, real_type(x.dtype()), x.device())),
                                        Ints{exchanged.rank() - 1}, false);
  return {divide(lento::diagonal(lu, 0, -2, -1), lento::squeeze(factor, Ints{x.rank() - 2})), sign};
}

/// Whether half of the digits of an inverse's derivative would be lost. Rows and columns of different sizes do no harm,
/// so they are made equal before.
Tensor close_to_singular(const Tensor& x) {
  const std::int64_t rows = x.rank() - 2;
  const auto levelled = [](const Tensor& matrix, std::int64_t axis) {
    const Tensor largest = prim::reduce_max(abs(matrix), Ints{axis}, true);
    return divide(matrix, where(equal(largest, 0), 1, largest));
  };
  const Tensor level = levelled(levelled(stop_gradient(x), rows + 1), rows);
  const Tensor pivots = abs(factorised(level).diagonal);
  const Ints last{pivots.rank() - 1};
  const Tensor bound = multiply(prim::reduce_max(pivots, last, false), std::sqrt(epsilon_of(x.dtype())));
  return less_equal(prim::reduce_min(pivots, last, false), bound);
}

/// The derivative of the determinant, for singular matrices too: the conjugate of the matrix of cofactors.
Tensor conjugate_cofactors(const Tensor& x, const Tensor& determinant) {
  const std::int64_t n = rows_of(x);
  const std::int64_t rows = x.rank() - 2;
  const auto conjugated = [](const Tensor& t) { return is_complex(t.dtype()) ? conj(t) : t; };
  if (n == 0) return x;
  if (n == 1) return lento::ones_like(x);
  if (n == 2) {
    const Tensor place = counting(2, x.device());
    const Tensor diagonal = equal(with_axis(place, 0), with_axis(place, 1));
    const Tensor turned = lento::flip(conjugated(x), Ints{rows, rows + 1});
    return where(diagonal, turned, negative(turned));
  }
  if (n == 3) {
    const auto cross = [&](std::int64_t a, std::int64_t b) {
      return with_axis(lento::linalg::cross(picked(x, rows, a), picked(x, rows, b)), rows);
    };
    return conjugated(prim::concatenate({cross(1, 2), cross(2, 0), cross(0, 1)}, rows));
  }
  // Regular ones by their inverse, those that are close to singular by their singular values: their inverse would be
  // right multiplied by the determinant, but not its derivative. So are those whose determinant is too small or too
  // large for a number with all its digits. Each way gets harmless matrices in the place of the other's.
  const Tensor size = abs(stop_gradient(determinant));
  const double least =
      real_type(x.dtype()) == DType::float64 ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  const Tensor no_number = bitwise_or(less(size, least), isinf(size));
  const Tensor singular = with_axis(with_axis(bitwise_or(close_to_singular(x), no_number), rows), rows + 1);
  const Tensor regular = where(singular, identity_like(x), x);
  const Tensor inverse = prim::linear_solve(regular, identity_like(x));
  // Not the determinant of x: where it is infinite, it is still that when nothing of it counts.
  const Tensor factor = with_axis(with_axis(lento::linalg::det(regular), rows), rows + 1);
  const Tensor by_inverse = multiply(conjugate_transpose(inverse), conjugated(factor));
  const Tensor harmless = lento::diag(add(counting(n, x.device(), real_type(x.dtype())), 1));
  const Tensor by_values = conjugate_cofactors_by_values(where(singular, x, converted(harmless, x.dtype())));
  return where(singular, by_values, by_inverse);
}

/// Singular values count as zero up to this; `rtol` is a number, or one for each matrix.
Tensor cutoff_of(const Tensor& singular, const Tensor& x, const std::optional<Operand>& rtol) {
  const Tensor largest = prim::reduce_max(singular, Ints{singular.rank() - 1}, true);
  if (!rtol) return multiply(largest, static_cast<double>(std::max(rows_of(x), columns_of(x))) * epsilon_of(x.dtype()));
  if (!rtol->is_tensor()) return multiply(largest, rtol->scalar());
  const Tensor factors = converted(rtol->tensor(), singular.dtype());
  return multiply(largest, with_axis(factors, factors.rank()));
}

Tensor matrix_product(const Tensor& a, const Tensor& b) { return prim::matrix_multiply(a, b); }

/// The permutation that the row exchanges of an LU factorisation make of 0, 1, …, m - 1.
Tensor permutation_of(const Tensor& pivots, std::int64_t m) {
  const std::int64_t last = pivots.rank() - 1;
  const std::int64_t steps = pivots.shape().back();
  require_recordable(steps, "exchanges of rows");
  const Tensor place = counting(m, pivots.device());
  Shape shape = pivots.shape();
  shape.back() = m;
  Tensor permutation = broadcast(place, shape);
  const Tensor targets = converted(pivots, DType::int64);
  for (std::int64_t i = 0; i < steps; ++i) {
    const Tensor target = sliced(targets, last, i, 1);
    const Tensor here = sliced(permutation, last, i, 1);
    const Tensor there = prim::take_along_axis(permutation, target, last);
    permutation = where(equal(place, i), there, where(equal(place, target), here, permutation));
  }
  return permutation;
}

/// The (13, 13) Padé approximant of exp for matrices of small norm.
Tensor pade_exponential(const Tensor& a) {
  constexpr std::array<double, 14> b = {64764752532480000.,
                                        32382376266240000.,
                                        7771770303897600.,
                                        1187353796428800.,
                                        129060195264000.,
                                        10559470521600.,
                                        670442572800.,
                                        33522128640.,
                                        1323241920.,
                                        40840800.,
                                        960960.,
                                        16380.,
                                        182.,
                                        1.};
  const Tensor one = identity_like(a);
  const Tensor a2 = matrix_product(a, a);
  const Tensor a4 = matrix_product(a2, a2);
  const Tensor a6 = matrix_product(a4, a2);
  const auto high = [&](std::size_t i) {
    return add(add(multiply(a6, b[i + 4]), multiply(a4, b[i + 2])), multiply(a2, b[i]));
  };
  const auto low = [&](std::size_t i) { return add(high(i + 2), multiply(one, b[i])); };
  const Tensor odd = matrix_product(a, add(matrix_product(a6, high(9)), low(1)));
  const Tensor even = add(matrix_product(a6, high(8)), low(0));
  return prim::linear_solve(subtract(even, odd), add(even, odd));
}

}  // namespace

Tensor matrix_power(const Tensor& x, std::int64_t n) {
  require_square(x);
  if (n < 0 && !is_floating(x.dtype()) && !is_complex(x.dtype()))
    fail<DTypeError>("a negative power of integers: {}", type_of(x));
  if (n == 0) return identity_like(x);
  Tensor base = n < 0 ? lento::linalg::inv(x) : x;
  auto left = n < 0 ? -static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  Tensor result;
  for (;; base = matrix_product(base, base)) {
    if (left % 2 == 1) result = result.defined() ? matrix_product(result, base) : base;
    left /= 2;
    if (left == 0) return result;
  }
}

Tensor cholesky(const Tensor& x, bool upper) {
  require_square(x);
  const Tensor lower = prim::cholesky_factor(to_wide_float(x));
  return converted(upper ? conjugate_transpose(lower) : lower, x.dtype());
}

QrResult qr(const Tensor& x, std::string_view mode) {
  require_matrix(x);
  const auto [q, r] = prim::qr_factor(to_wide_float(x), mode == "complete");
  return {converted(q, x.dtype()), converted(r, x.dtype())};
}

SvdResult svd(const Tensor& x, bool full_matrices) {
  require_matrix(x);
  const auto [u, s, vh] = prim::svd_factor(to_wide_float(x), full_matrices);
  return {converted(u, x.dtype()), converted(s, real_type(x.dtype())), converted(vh, x.dtype())};
}

Tensor svdvals(const Tensor& x) {
  require_matrix(x);
  const Tensor given = to_float(x);
  return converted(prim::svd_factor(to_wide_float(x), false).s, real_type(given.dtype()));
}

EighResult eigh(const Tensor& x) {
  require_square(x);
  const auto [w, v] = prim::eigh_factor(to_wide_float(x));
  return {converted(w, real_type(x.dtype())), converted(v, x.dtype())};
}

Tensor eigvalsh(const Tensor& x) {
  require_square(x);
  const Tensor given = to_float(x);
  return converted(prim::eigh_factor(to_wide_float(x)).w, real_type(given.dtype()));
}

EigResult eig(const Tensor& x) {
  require_square(x);
  const auto [w, v] = prim::eig_factor(to_wide_float(x));
  return {w, v};
}

Tensor eigvals(const Tensor& x) {
  require_square(x);
  return prim::eig_factor(to_wide_float(x)).w;
}

LuResult lu(const Tensor& x) {
  require_matrix(x);
  const auto [factors, pivots] = prim::lu_factor(to_wide_float(x));
  const std::int64_t m = rows_of(x);
  const std::int64_t k = std::min(m, columns_of(x));
  const std::int64_t rows = x.rank() - 2;
  const Tensor lower = sliced(lento::tril(factors, -1), rows + 1, 0, k);
  const Tensor unit = add(lower, lento::eye(m, k, 0, factors.dtype(), x.device()));
  const Tensor upper = sliced(lento::triu(factors), rows, 0, k);
  const Tensor permutation = permutation_of(pivots, m);
  const Tensor matrix = equal(with_axis(counting(m, x.device()), 1), with_axis(permutation, permutation.rank() - 1));
  return {converted(matrix, x.dtype()), converted(unit, x.dtype()), converted(upper, x.dtype())};
}

Tensor det(const Tensor& x) {
  require_square(x);
  const auto value = [](const std::vector<Tensor>& inputs) {
    const Diagonalised parts = factorised(inputs[0]);
    const Tensor product = prim::reduce_prod(parts.diagonal, Ints{parts.diagonal.rank() - 1}, false);
    return std::vector{multiply(product, parts.sign)};
  };
  const auto slope = [](const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                        const std::vector<Tensor>& cotangents) {
    const std::int64_t rank = cotangents[0].rank();
    const Tensor arriving = with_axis(with_axis(cotangents[0], rank), rank + 1);
    return std::vector{multiply(conjugate_cofactors(inputs[0], outputs[0]), arriving)};
  };
  return converted(custom_gradient(value, slope, {to_wide_float(x)})[0], x.dtype());
}

SlogdetResult slogdet(const Tensor& x) {
  require_square(x);
  const auto value = [](const std::vector<Tensor>& inputs) {
    const Diagonalised parts = factorised(inputs[0]);
    const Ints last{parts.diagonal.rank() - 1};
    const Tensor unit = multiply(prim::reduce_prod(sign(parts.diagonal), last, false), parts.sign);
    return std::vector{unit, sum_over(log(abs(parts.diagonal)), last)};
  };
  // The inverse, and nan for singular matrices. More exact than what comes back through the factors.
  const auto slope = [](const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                        const std::vector<Tensor>& cotangents) {
    const Tensor& matrix = inputs[0];
    if (rows_of(matrix) == 0) return std::vector{matrix};
    const auto widened = [](const Tensor& t) { return with_axis(with_axis(t, t.rank()), t.rank() + 1); };
    const Tensor singular = widened(equal(outputs[1], -std::numeric_limits<double>::infinity()));
    const Tensor inverse = prim::linear_solve(where(singular, identity_like(matrix), matrix), identity_like(matrix));
    // A real sign does not change, a complex one by its angle: the imaginary part of the logarithm.
    const Tensor arriving = is_complex(matrix.dtype())
                                ? lento::complex(cotangents[1], imag(multiply(cotangents[0], conj(outputs[0]))))
                                : cotangents[1];
    const Tensor defined =
        where(singular, std::numeric_limits<double>::quiet_NaN(), lento::ones_like(widened(outputs[1])));
    return std::vector{multiply(multiply(conjugate_transpose(inverse), widened(arriving)), defined)};
  };
  const std::vector<Tensor> both = custom_gradient(value, slope, {to_wide_float(x)});
  return {converted(both[0], x.dtype()), converted(both[1], real_type(x.dtype()))};
}

Tensor logdet(const Tensor& x) {
  const auto [sign, logabsdet] = lento::linalg::slogdet(x);
  return where(less(sign, 0), std::numeric_limits<double>::quiet_NaN(), logabsdet);
}

Tensor inv(const Tensor& x) {
  require_square(x);
  const Tensor wide = to_wide_float(x);
  return converted(prim::linear_solve(wide, identity_like(wide)), x.dtype());
}

Tensor solve(const Tensor& x1, const Tensor& x2) {
  const bool vector = x2.rank() == 1;
  const Tensor right = vector ? with_axis(x2, 1) : x2;
  require_system(x1, right);
  const Pair system = with_common_batch(to_wide_float(x1), to_wide_float(right));
  const Tensor solution = converted(prim::linear_solve(system.a, system.b), x1.dtype());
  return vector ? drop_axis(solution, solution.rank() - 1) : solution;
}

Tensor triangular_solve(const Tensor& x1, const Tensor& x2, bool upper, bool transpose, bool unit_diagonal) {
  const bool vector = x2.rank() == 1;
  const Tensor right = vector ? with_axis(x2, 1) : x2;
  require_system(x1, right);
  const Pair system = with_common_batch(to_wide_float(x1), to_wide_float(right));
  const Tensor solution = prim::triangular_solve(system.a, system.b, upper, transpose, unit_diagonal);
  const Tensor result = converted(solution, x1.dtype());
  return vector ? drop_axis(result, result.rank() - 1) : result;
}

Tensor solve_triangular(const Tensor& x1, const Tensor& x2, std::optional<bool> upper, bool transpose,
                        bool unit_diagonal, std::optional<bool> lower) {
  if (upper && lower && *upper == *lower) {
    fail<ValueError>("upper and lower are both {}, and they name one triangle; give one of them", *upper);
  }
  return linalg::triangular_solve(x1, x2, upper.value_or(!lower.value_or(false)), transpose, unit_diagonal);
}

Tensor cholesky_solve(const Tensor& x, const Tensor& factor, bool upper) {
  require_system(factor, x);
  const Pair system = with_common_batch(to_wide_float(factor), to_wide_float(x));
  const Tensor half_way = prim::triangular_solve(system.a, system.b, upper, upper, false);
  return converted(prim::triangular_solve(system.a, half_way, upper, !upper, false), x.dtype());
}

Tensor pinv(const Tensor& x, const std::optional<Operand>& rtol) {
  require_matrix(x);
  if (std::min(rows_of(x), columns_of(x)) == 0) return swap_last(x);
  const auto [u, s, vh] = prim::svd_factor(to_wide_float(x), false);
  const Tensor kept = greater(s, cutoff_of(s, x, rtol));
  const Tensor inverse = where(kept, divide(1, where(kept, s, 1)), 0);
  const Tensor scaled = multiply(conjugate_transpose(u), with_axis(inverse, inverse.rank()));
  return converted(matrix_product(conjugate_transpose(vh), scaled), x.dtype());
}

Tensor matrix_rank(const Tensor& x, const std::optional<Operand>& rtol) {
  require_matrix(x);
  if (std::min(rows_of(x), columns_of(x)) == 0) {
    return number_tensor(0, DType::int64, x.device(), Shape(x.shape().begin(), x.shape().end() - 2));
  }
  const Tensor given = to_float(x);
  const Tensor s = prim::svd_factor(to_wide_float(x), false).s;
  return count_true(greater(s, cutoff_of(s, given, rtol)), Ints{s.rank() - 1});
}

LstsqResult lstsq(const Tensor& x1, const Tensor& x2, std::optional<double> rcond) {
  require_matrix(x1);
  const bool vector = x2.rank() == 1;
  const Tensor b = to_wide_float(vector ? with_axis(x2, 1) : x2);
  require_matrix(b);
  if (rows_of(b) != rows_of(x1))
    fail<ShapeError>("the right-hand side {} has not as many rows as {}", type_of(x2), type_of(x1));
  const Tensor a = to_wide_float(x1);
  const std::int64_t n = columns_of(a);
  const auto [u, s, vh] = prim::svd_factor(a, false);
  if (s.shape().back() == 0) fail<ValueError>("{} has no elements", type_of(x1));
  std::optional<Operand> tolerance;
  if (rcond) tolerance.emplace(*rcond);
  const Tensor kept = greater(s, cutoff_of(s, a, tolerance));
  const Tensor inverse = where(kept, divide(1, where(kept, s, 1)), 0);
  const Tensor projected = multiply(matrix_product(conjugate_transpose(u), b), with_axis(inverse, inverse.rank()));
  const Tensor solution = matrix_product(conjugate_transpose(vh), projected);
  const Tensor rank = count_true(kept, Ints{kept.rank() - 1});
  const Tensor misfit = subtract(b, matrix_product(a, solution));
  const Tensor squares = sum_over(multiply(misfit, misfit), Ints{misfit.rank() - 2});
  Tensor residuals;
  if (rows_of(a) > n) {
    residuals = where(equal(with_axis(rank, rank.rank()), n), squares, std::numeric_limits<double>::quiet_NaN());
  } else {
    residuals = number_tensor(0, squares.dtype(), x1.device(), Shape{0});
  }
  const auto finished = [&](const Tensor& t) { return converted(t, x1.dtype()); };
  return {finished(vector ? drop_axis(solution, solution.rank() - 1) : solution), finished(residuals), rank,
          finished(s)};
}

Tensor cond(const Tensor& x) {
  require_matrix(x);
  const Tensor s = lento::linalg::svdvals(x);
  const Ints last{s.rank() - 1};
  return divide(prim::reduce_max(s, last, false), prim::reduce_min(s, last, false));
}

Tensor matrix_exp(const Tensor& x) {
  require_square(x);
  if (x.size() == 0) return x;
  constexpr double kSmallNorm = 5.371920351148152;  // up to here the approximant is exact to double precision
  constexpr int kMaxSquarings = 24;
  const Tensor wide = converted(x, is_complex(x.dtype()) ? DType::complex128 : DType::float64);
  const Tensor size = prim::reduce_max(sum_over(abs(wide), Ints{x.rank() - 2}, true), Ints{x.rank() - 1}, true);
  // exp(x) = exp(x / 2^s)^(2^s), with s chosen for each matrix; the result does not depend on it. All squarings are
  // recorded; `where` skips those too many.
  const Tensor squarings = maximum(ceil(log2(divide(stop_gradient(size), kSmallNorm))), 0);
  Tensor result = pade_exponential(multiply(wide, lento::pow(2.0, negative(squarings))));
  for (int i = 0; i < kMaxSquarings; ++i) result = where(greater(squarings, i), matrix_product(result, result), result);
  const Tensor good = less_equal(squarings, kMaxSquarings);
  return converted(where(good, result, std::numeric_limits<double>::quiet_NaN()), x.dtype());
}

}  // namespace lento::composite

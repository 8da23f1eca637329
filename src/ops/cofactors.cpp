// Cofactors of matrices that may be singular, and their derivatives (cofactors.h).
#include "ops/cofactors.h"
#include "ops/cofactors.calls.gen.h"

#include <lento/differentiation.h>

#include "ops/composite_helpers.h"

#include <vector>

namespace lento::composite {

namespace {

Tensor conjugated(const Tensor& x) { return is_complex(x.dtype()) ? conj(x) : x; }

/// x times two to the power of whole numbers. In steps, none of which leaves the range of numbers unless the product
/// does.
Tensor times_power_of_two(const Tensor& x, Tensor exponent) {
  const double step = real_type(x.dtype()) == DType::float64 ? 1000 : 100;
  Tensor product = x;
  for (int i = 0; i < 3; ++i) {
    const Tensor part = minimum(maximum(exponent, -step), step);
    product = multiply(product, converted(lento::exp2(part), x.dtype()));
    exponent = subtract(exponent, part);
  }
  return product;
}

/// The exponents of two that bring the largest elements of rows and columns close to 1, for each element.
Tensor levelling_exponents(const Tensor& x) {
  const std::int64_t rows = x.rank() - 2;
  const Tensor size = lento::floor(lento::log2(abs(stop_gradient(x))));
  const auto largest = [](const Tensor& exponents, std::int64_t axis) {
    const Tensor found = prim::reduce_max(exponents, Ints{axis}, true);
    return where(isfinite(found), found, 0);  // of nothing but zeros, or no numbers
  };
  const Tensor of_rows = largest(size, rows + 1);
  return negative(add(of_rows, largest(subtract(size, of_rows), rows)));
}

/// Singular values as numbers whose products of neighbours are all close to 1, times powers of two. Those of the
/// values themselves leave the range of numbers where products of all but one do not.
struct BalancedValues {
  Tensor values;     // 0 where there is no other
  Tensor exponents;  // of two, constants
};

BalancedValues balanced(const Tensor& s) {
  const std::int64_t last = s.rank() - 1;
  const Tensor logarithm = lento::log2(stop_gradient(s));
  const Tensor so_far = lento::round(prim::scan_sum(where(isfinite(logarithm), logarithm, 0), last));
  Ints low(s.shape().size(), 0);
  Ints high = low;
  low.back() = 1;
  high.back() = -1;
  const Tensor exponents = subtract(so_far, prim::pad_constant(so_far, 0, low, high));
  return {times_power_of_two(s, negative(exponents)), exponents};
}

/// For each pair of different singular values the product of all others; 0 on the diagonal.
Tensor products_of_other_pairs(const Tensor& s) {
  const std::int64_t last = s.rank() - 1;
  const Tensor place = counting(s.shape().back(), s.device());
  const Tensor above = less(with_axis(place, 1), with_axis(place, 0));
  // In front of the first, between the two, and behind the second.
  const Tensor between = product_before(where(above, with_axis(s, last), 1), last + 1);
  const Tensor front = product_before(s, last);
  const Tensor behind = lento::flip(product_before(lento::flip(s, Ints{last}), last), Ints{last});
  const Tensor products =
      where(above, multiply(multiply(with_axis(front, last + 1), between), with_axis(behind, last)), 0);
  return add(products, swap_last(products));
}

}  // namespace

// U S V: conj(det(U) det(V)) U S' V, with the product of the others for each value. Their derivative is written out, as
// that of vectors whose values are equal does not exist: a change E between the vectors changes the cofactors of S by
// the products of all values but two.
//
// It is done for the matrix whose rows and columns are made equal, which is x times t, element by element. The
// cofactors of x are that matrix's times t and d, the product of all that rows and columns were divided by; a change of
// x counts t times as much there.
Tensor conjugate_cofactors_by_values(const Tensor& x) {
  struct Factors {
    Tensor u, s, vh, phase;
    Tensor level;      // the exponents of t
    Tensor exponents;  // of the values
    Tensor total;      // the exponents of d and of all values together
  };
  const auto factors = [](const Tensor& matrix) {
    const std::int64_t rows = matrix.rank() - 2;
    const Tensor level = levelling_exponents(matrix);
    const auto [u, values, vh] = prim::svd_factor(times_power_of_two(matrix, level), false);
    const auto [s, exponents] = balanced(values);
    Tensor phase = multiply(lento::linalg::det(u), lento::linalg::det(vh));
    if (!is_complex(matrix.dtype())) phase = stop_gradient(phase);  // 1 or -1
    // Each row's and column's exponent stands once in the diagonal.
    const Tensor total = subtract(sum_over(exponents, Ints{rows}, false),
                                  sum_over(lento::diagonal(level, 0, -2, -1), Ints{rows}, false));
    const auto of_matrices = [&](const Tensor& t) { return with_axis(with_axis(t, rows), rows + 1); };
    return Factors{u, s, vh, of_matrices(phase), level, exponents, of_matrices(total)};
  };
  // The exponents of the last values, which the largest products are without.
  const auto last_of = [](const Tensor& exponents, std::int64_t from_end) {
    const std::int64_t axis = exponents.rank() - 1;
    return sliced(exponents, axis, exponents.shape().back() - from_end, 1);
  };
  const auto value = [=](const std::vector<Tensor>& inputs) {
    const auto [u, s, vh, phase, level, exponents, total] = factors(inputs[0]);
    const Tensor last = last_of(exponents, 1);
    const Tensor others = times_power_of_two(product_of_others(s), subtract(last, exponents));
    const Tensor scaled = multiply(u, with_axis(converted(others, u.dtype()), s.rank() - 1));
    const Tensor cofactors = multiply(prim::matrix_multiply(scaled, vh), conjugated(phase));
    return std::vector{times_power_of_two(cofactors, add(level, subtract(total, with_axis(last, s.rank()))))};
  };
  const auto slope = [=](const std::vector<Tensor>& inputs, const std::vector<Tensor>& /*outputs*/,
                         const std::vector<Tensor>& cotangents) {
    const auto [u, s, vh, phase, level, exponents, total] = factors(inputs[0]);
    const std::int64_t axis = s.rank() - 1;
    const Tensor last = last_of(exponents, 1);
    const Tensor last_two = with_axis(add(last, last_of(exponents, 2)), axis + 1);
    // Half of the common factor before and half after, as neither side has to be in the range of numbers alone.
    const Tensor common = subtract(total, last_two);
    const Tensor half = lento::floor(multiply(common, 0.5));
    const Tensor cotangent = times_power_of_two(cotangents[0], add(level, half));
    const Tensor between =
        prim::matrix_multiply(prim::matrix_multiply(conjugated(swap_last(u)), cotangent), conjugated(swap_last(vh)));
    const Tensor change = conjugated(multiply(between, phase));
    const Tensor pairs = add(with_axis(exponents, axis), with_axis(exponents, axis + 1));
    const Tensor products =
        converted(times_power_of_two(products_of_other_pairs(s), subtract(last_two, pairs)), u.dtype());
    const Tensor along = prim::reduce_sum(multiply(products, with_axis(lento::diagonal(change, 0, -2, -1), axis)),
                                          Ints{axis + 1}, false);
    const Tensor core = subtract(lento::diag_embed(along), multiply(products, swap_last(change)));
    const Tensor result = prim::matrix_multiply(prim::matrix_multiply(u, core), vh);
    return std::vector{times_power_of_two(result, add(level, subtract(common, half)))};
  };
  return custom_gradient(value, slope, {x})[0];
}

}  // namespace lento::composite

// Products and norms (ops/linalg.yaml). Everything that sums products over axes becomes a matrix product.
#include "base/fail.h"
#include "ir/shape_limit.h"
#include "ops/composite_helpers.h"
#include "ops/norms.h"
#include "ops/products.calls.gen.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

namespace lento::composite {

namespace {

void require_exact_rank(const Tensor& x, std::int64_t rank) {
  if (x.rank() != rank) fail<ShapeError>("{} must have {} axes", type_of(x), rank);
}

/// x1 @ x2 with vectors as rows and columns.
Tensor product(const Tensor& x1, const Tensor& x2) {
  if (x1.rank() == 0 || x2.rank() == 0)
    fail<ShapeError>("zero-dimensional operands: {} @ {}", type_of(x1), type_of(x2));
  const Tensor left = x1.rank() == 1 ? with_axis(x1, 0) : x1;
  const Tensor right = x2.rank() == 1 ? with_axis(x2, 1) : x2;
  Tensor result = prim::matrix_multiply(left, right);
  if (x2.rank() == 1) result = drop_axis(result, result.rank() - 1);
  if (x1.rank() == 1) result = drop_axis(result, result.rank() - (x2.rank() == 1 ? 1 : 2));
  return result;
}

/// Sums over axes1 of x1 paired with axes2 of x2; the other axes of x1 come first in the result.
Tensor contracted(const Tensor& x1, const Tensor& x2, const Ints& axes1, const Ints& axes2) {
  Ints order1, order2;
  Shape shape;
  const auto others = [&](const Tensor& x, const Ints& axes) {
    Ints rest;
    for (std::int64_t i = 0; i < x.rank(); ++i) {
      if (std::find(axes.begin(), axes.end(), i) == axes.end()) {
        rest.push_back(i);
        shape.push_back(x.shape()[static_cast<std::size_t>(i)]);
      }
    }
    return rest;
  };
  const Ints rest1 = others(x1, axes1);
  const Ints rest2 = others(x2, axes2);
  order1.append(rest1);
  order1.append(axes1);
  order2.append(axes2);
  order2.append(rest2);
  const std::int64_t inner = count_along(x1, axes1);
  const Tensor rows = reshaped(permuted(x1, order1), Shape{count_along(x1, rest1), inner});
  const Tensor columns = reshaped(permuted(x2, order2), Shape{inner, count_along(x2, rest2)});
  return reshaped(prim::matrix_multiply(rows, columns), shape);
}

Tensor scaled(const Tensor& x, const Scalar& factor) { return converted(multiply(x, factor), x.dtype()); }

/// beta * x + alpha * y, where beta = 0 ignores x, also its nan.
Tensor combined(const Tensor& x, const Scalar& beta, const Tensor& y, const Scalar& alpha) {
  const Tensor base = beta.to<double>() == 0 ? scaled(y, alpha) : add(scaled(x, beta), scaled(y, alpha));
  return base;
}

/// The cheapest order of a chain of products, by the classic table over all sub-chains.
Tensor chain(const std::vector<Tensor>& matrices) {
  const std::size_t n = matrices.size();
  std::vector<double> size(n + 1);
  for (std::size_t i = 0; i < n; ++i) size[i] = static_cast<double>(matrices[i].shape()[0]);
  size[n] = static_cast<double>(matrices[n - 1].shape()[1]);
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<std::size_t>> cut(n, std::vector<std::size_t>(n, 0));
  for (std::size_t length = 1; length < n; ++length) {
    for (std::size_t i = 0; i + length < n; ++i) {
      const std::size_t j = i + length;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (std::size_t k = i; k < j; ++k) {
        const double total = cost[i][k] + cost[k + 1][j] + size[i] * size[k + 1] * size[j + 1];
        if (total < cost[i][j]) {
          cost[i][j] = total;
          cut[i][j] = k;
        }
      }
    }
  }
  // Products from the inside out: sub-chains by length, so that both halves are there when they are needed.
  std::vector<std::vector<Tensor>> made(n, std::vector<Tensor>(n));
  std::vector<std::pair<std::size_t, std::size_t>> todo{{0, n - 1}}, order;
  while (!todo.empty()) {
    const auto [i, j] = todo.back();
    todo.pop_back();
    order.emplace_back(i, j);
    if (i == j) continue;
    todo.emplace_back(i, cut[i][j]);
    todo.emplace_back(cut[i][j] + 1, j);
  }
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const auto [i, j] = *at;
    made[i][j] = i == j ? matrices[i] : prim::matrix_multiply(made[i][cut[i][j]], made[cut[i][j] + 1][j]);
  }
  return made[0][n - 1];
}

/// An order given as text: a number, inf, -inf.
double parse_order(std::string_view text) {
  double value = 0;
  const std::string number(text);
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, value);
  if (error != std::errc() || stop != end) {
    fail<ValueError>("the order of a norm is a number, 'fro' or 'nuc', not '{}'", text);
  }
  return value;
}

/// The result in the real type that belongs to x: half types were widened.
Tensor as_norm_of(const Tensor& x, const Tensor& norm) {
  return is_half(x.dtype()) ? converted(norm, x.dtype()) : norm;
}

Tensor matrix_norm_kept(const Tensor& x, std::string_view ord) {
  const std::int64_t rows = x.rank() - 2;
  const std::int64_t columns = x.rank() - 1;
  if (ord == "fro") return vector_norm_kept(to_wide_float(x), 2, Ints{rows, columns});
  const auto with_matrix_axes = [](const Tensor& per_matrix) {
    return with_axis(with_axis(per_matrix, per_matrix.rank()), per_matrix.rank() + 1);
  };
  const auto singular = [&] { return lento::linalg::svdvals(to_wide_float(x)); };
  if (ord == "nuc") return with_matrix_axes(sum_over(singular(), Ints{rows}));
  const double order = parse_order(ord);
  if (order == 2) return with_matrix_axes(prim::reduce_max(singular(), Ints{rows}, false));
  if (order == -2) return with_matrix_axes(prim::reduce_min(singular(), Ints{rows}, false));
  const bool by_column = std::abs(order) == 1;
  if (!by_column && !std::isinf(order)) fail<ValueError>("there is no matrix norm of order '{}'", ord);
  const Tensor sums = sum_over(abs(to_wide_float(x)), Ints{by_column ? rows : columns}, true);
  const Ints across{by_column ? columns : rows};
  if (sums.size() == 0) return order > 0 ? sum_over(sums, across, true) : prim::reduce_min(sums, across, true);
  return order > 0 ? prim::reduce_max(sums, across, true) : prim::reduce_min(sums, across, true);
}

Tensor dropped(const Tensor& kept, const Ints& axes, bool keepdims) {
  return keepdims ? kept : reshaped(kept, without_axes(kept.shape(), axes));
}

}  // namespace

Tensor matmul(const Tensor& x1, const Tensor& x2) { return product(x1, x2); }

Tensor matrix_transpose(const Tensor& x) {
  require_rank(x, 2, "a matrix");
  return swap_last(x);
}

Tensor vecdot(const Tensor& x1, const Tensor& x2, std::int64_t axis) {
  const std::int64_t least = std::min(x1.rank(), x2.rank());
  if (axis < -least || axis >= 0) {
    // Counted from the front an axis is only clear when both have the same number.
    if (axis < 0 || x1.rank() != x2.rank() || axis >= least) {
      fail<IndexError>("axis {} is not an axis of both {} and {}", axis, type_of(x1), type_of(x2));
    }
    axis -= least;
  }
  const std::int64_t length1 = x1.shape()[static_cast<std::size_t>(x1.rank() + axis)];
  const std::int64_t length2 = x2.shape()[static_cast<std::size_t>(x2.rank() + axis)];
  if (length1 != length2)
    fail<ShapeError>("the lengths along axis {} differ: {} and {}", axis, type_of(x1), type_of(x2));
  const Tensor products = multiply(is_complex(x1.dtype()) ? conj(x1) : x1, x2);
  return sum_over(products, Ints{products.rank() + axis});
}

Tensor tensordot(const Tensor& x1, const Tensor& x2, const Ints& axes) {
  Ints axes1, axes2;
  if (axes.size() == 1) {
    const std::int64_t count = axes[0];
    if (count < 0 || count > x1.rank() || count > x2.rank()) {
      fail<ValueError>("{} axes cannot be paired in {} and {}", count, type_of(x1), type_of(x2));
    }
    for (std::int64_t i = 0; i < count; ++i) {
      axes1.push_back(x1.rank() - count + i);
      axes2.push_back(i);
    }
  } else {
    if (axes.size() % 2 != 0) fail<ValueError>("axes must come in pairs, got {}", axes);
    const std::size_t half = axes.size() / 2;
    axes1 = ordered_axes_of(x1, Ints(axes.begin(), axes.begin() + half));
    axes2 = ordered_axes_of(x2, Ints(axes.begin() + half, axes.end()));
  }
  for (std::size_t i = 0; i < axes1.size(); ++i) {
    if (x1.shape()[static_cast<std::size_t>(axes1[i])] != x2.shape()[static_cast<std::size_t>(axes2[i])]) {
      fail<ShapeError>("axis {} of {} and axis {} of {} differ in length", axes1[i], type_of(x1), axes2[i],
                       type_of(x2));
    }
  }
  return contracted(x1, x2, axes1, axes2);
}

Tensor outer(const Tensor& x1, const Tensor& x2) { return multiply(with_axis(flat(x1), 1), with_axis(flat(x2), 0)); }

Tensor cross(const Tensor& x1, const Tensor& x2, std::int64_t axis) {
  const std::int64_t at1 = axis_of(x1, axis);
  const std::int64_t at2 = axis_of(x2, axis);
  if (x1.shape()[static_cast<std::size_t>(at1)] != 3 || x2.shape()[static_cast<std::size_t>(at2)] != 3) {
    fail<ShapeError>("axis {} must have length 3 in both, got {} and {}", axis, type_of(x1), type_of(x2));
  }
  const auto part = [&](const Tensor& x, std::int64_t at, std::int64_t i) { return sliced(x, at, i % 3, 1); };
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < 3; ++i) {
    parts.push_back(subtract(multiply(part(x1, at1, i + 1), part(x2, at2, i + 2)),
                             multiply(part(x1, at1, i + 2), part(x2, at2, i + 1))));
  }
  const std::int64_t rank = parts.front().rank();
  return prim::concatenate(parts, axis < 0 ? axis + rank : axis);
}

Tensor diagonal(const Tensor& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  require_rank(x, 2, "what has a diagonal");
  if (axis_of(x, axis1) == axis_of(x, axis2))
    fail<ValueError>("a diagonal needs two different axes, got {} twice", axis1);
  const Tensor matrices = lento::moveaxis(x, Ints{axis1, axis2}, Ints{-2, -1});
  const std::size_t rank = matrices.shape().size();
  const std::int64_t rows = matrices.shape()[rank - 2];
  const std::int64_t columns = matrices.shape()[rank - 1];
  const std::int64_t length =
      std::max<std::int64_t>(offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns), 0);
  // In row-major order the elements of a diagonal are a row and one element apart.
  Shape shape(matrices.shape().begin(), matrices.shape().end() - 2);
  shape.push_back(rows * columns);
  const std::int64_t start = length == 0 ? 0 : offset >= 0 ? offset : -offset * columns;
  return sliced(reshaped(matrices, shape), static_cast<std::int64_t>(rank) - 2, start, length,
                length < 2 ? 1 : columns + 1);
}

Tensor dot(const Tensor& x1, const Tensor& x2) {
  if (x1.rank() == 0 || x2.rank() == 0) return multiply(x1, x2);
  const std::int64_t axis1 = x1.rank() - 1;
  const std::int64_t axis2 = std::max<std::int64_t>(x2.rank() - 2, 0);
  if (x1.shape().back() != x2.shape()[static_cast<std::size_t>(axis2)]) {
    fail<ShapeError>("inner dimensions differ: {} and {}", type_of(x1), type_of(x2));
  }
  return contracted(x1, x2, Ints{axis1}, Ints{axis2});
}

Tensor inner(const Tensor& x1, const Tensor& x2) {
  if (x1.rank() == 0 || x2.rank() == 0) return multiply(x1, x2);
  if (x1.shape().back() != x2.shape().back())
    fail<ShapeError>("the last axes differ in length: {} and {}", type_of(x1), type_of(x2));
  return contracted(x1, x2, Ints{x1.rank() - 1}, Ints{x2.rank() - 1});
}

Tensor kron(const Tensor& x1, const Tensor& x2) {
  const std::size_t rank = std::max(x1.shape().size(), x2.shape().size());
  Shape blocks, elements, joined;  // axes of x1 and x2 in turn
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t back = rank - i;
    const std::int64_t outer_length = back <= x1.shape().size() ? x1.shape()[x1.shape().size() - back] : 1;
    const std::int64_t inner_length = back <= x2.shape().size() ? x2.shape()[x2.shape().size() - back] : 1;
    blocks.append(Ints{outer_length, 1});
    elements.append(Ints{1, inner_length});
    joined.push_back(counted(Shape{outer_length, inner_length}));
  }
  return reshaped(multiply(reshaped(x1, blocks), reshaped(x2, elements)), joined);
}

Tensor mv(const Tensor& x, const Tensor& vec) {
  require_exact_rank(x, 2);
  require_exact_rank(vec, 1);
  return product(x, vec);
}

Tensor mm(const Tensor& x1, const Tensor& x2) {
  require_exact_rank(x1, 2);
  require_exact_rank(x2, 2);
  return product(x1, x2);
}

Tensor bmm(const Tensor& x1, const Tensor& x2) {
  require_exact_rank(x1, 3);
  require_exact_rank(x2, 3);
  if (x1.shape()[0] != x2.shape()[0])
    fail<ShapeError>("the batches differ in length: {} and {}", type_of(x1), type_of(x2));
  return product(x1, x2);
}

Tensor addmm(const Tensor& x, const Tensor& x1, const Tensor& x2, const Scalar& beta, const Scalar& alpha) {
  require_exact_rank(x1, 2);
  require_exact_rank(x2, 2);
  const Tensor products = product(x1, x2);
  return combined(broadcast(x, products.shape()), beta, products, alpha);
}

Tensor addmv(const Tensor& x, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha) {
  require_exact_rank(mat, 2);
  require_exact_rank(vec, 1);
  const Tensor products = product(mat, vec);
  return combined(broadcast(x, products.shape()), beta, products, alpha);
}

Tensor baddbmm(const Tensor& x, const Tensor& x1, const Tensor& x2, const Scalar& beta, const Scalar& alpha) {
  require_exact_rank(x1, 3);
  require_exact_rank(x2, 3);
  const Tensor products = product(x1, x2);
  return combined(broadcast(x, products.shape()), beta, products, alpha);
}

Tensor multi_dot(const std::vector<Tensor>& arrays) {
  std::vector<Tensor> matrices = all_converted(arrays, promoted_dtype(arrays));
  if (matrices.size() < 2) fail<ValueError>("at least two matrices are needed, got {}", matrices.size());
  const bool row = matrices.front().rank() == 1;
  const bool column = matrices.back().rank() == 1;
  if (row) matrices.front() = with_axis(matrices.front(), 0);
  if (column) matrices.back() = with_axis(matrices.back(), 1);
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    require_exact_rank(matrices[i], 2);
    if (i > 0 && matrices[i - 1].shape()[1] != matrices[i].shape()[0]) {
      fail<ShapeError>("inner dimensions differ: {} @ {}", type_of(arrays[i - 1]), type_of(arrays[i]));
    }
  }
  Tensor result = chain(matrices);
  if (column) result = drop_axis(result, 1);
  return row ? drop_axis(result, 0) : result;
}

Tensor vector_norm(const Tensor& x, const std::optional<Ints>& axis, bool keepdims, double ord) {
  const Ints axes = axes_of(x, axis);
  return as_norm_of(x, dropped(vector_norm_kept(to_wide_float(x), ord, axes), axes, keepdims));
}

Tensor matrix_norm(const Tensor& x, bool keepdims, std::string_view ord) {
  require_rank(x, 2, "a matrix");
  return as_norm_of(x, dropped(matrix_norm_kept(x, ord), Ints{x.rank() - 2, x.rank() - 1}, keepdims));
}

Tensor norm(const Tensor& x, std::optional<std::string_view> ord, const std::optional<Ints>& axis, bool keepdims) {
  if (!ord) return lento::linalg::vector_norm(x, axis, keepdims, 2);
  const Ints axes = axis ? ordered_axes_of(x, *axis) : all_axes(x.rank());
  if (axes.size() == 1) {
    if (*ord == "fro" || *ord == "nuc") fail<ValueError>("'{}' is a norm of matrices, but one axis is given", *ord);
    return lento::linalg::vector_norm(x, axes, keepdims, parse_order(*ord));
  }
  if (axes.size() != 2) fail<ValueError>("a norm of order '{}' needs one or two axes, got {}", *ord, axes);
  const Tensor kept = matrix_norm_kept(lento::moveaxis(x, axes, Ints{-2, -1}), *ord);
  return as_norm_of(x, reshaped(kept, without_axes(x.shape(), axes, keepdims)));
}

}  // namespace lento::composite

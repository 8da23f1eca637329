// Derivatives of matrix products, windows and Fourier transforms.
#include "autograd/rules.h"
#include "autograd/rules_contraction.calls.gen.h"
#include "ops/composite_helpers.h"

namespace lento::rules {

using composite::reshaped;

namespace {

Tensor transposed(const Tensor& x) { return conjugated(matrix_transpose(x)); }

/// (..., m, k) as (... * m, k).
Tensor stacked(const Tensor& x) {
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < x.shape().size(); ++i) rows *= x.shape()[i];
  return reshaped(x, {rows, x.shape().back()});
}

/// a @ b, or the transposed of b.T @ a.T, which rounds differently.
Tensor product(const Tensor& a, const Tensor& b, bool across) {
  if (!across) return prim::matrix_multiply(a, b);
  return matrix_transpose(prim::matrix_multiply(matrix_transpose(b), matrix_transpose(a)));
}

}  // namespace

Tensor matrix_multiply_left(const Tensor& grad, const Tensor& x1, const Tensor& x2, bool across) {
  if (x1.rank() == 2 && x2.rank() > 2) {
    // Summed over the batch by the product itself: grad (b, m, n) and x2 (b, k, n) with the batch beside n.
    const Tensor g = stacked(matrix_transpose(grad));
    const Tensor x = stacked(matrix_transpose(broadcast_to(x2, [&] {
      Shape shape = grad.shape();
      shape[shape.size() - 2] = x2.shape()[x2.shape().size() - 2];
      return shape;
    }())));
    return product(matrix_transpose(g), conjugated(x), across);
  }
  return product(grad, transposed(x2), across);
}

Tensor matrix_multiply_right(const Tensor& grad, const Tensor& x1, const Tensor& x2, bool across) {
  if (x2.rank() == 2 && x1.rank() > 2) return product(transposed(stacked(x1)), stacked(grad), across);
  return product(transposed(x1), grad, across);
}

Ints spatial(const Tensor& x) { return Ints(x.shape().begin() + 2, x.shape().end()); }

Tensor as_far_as(const Tensor& x, const Tensor& like) {
  Tensor result = x;
  for (std::int64_t axis = 2; axis < x.rank(); ++axis) {
    const std::int64_t length = like.shape()[static_cast<std::size_t>(axis)];
    result = composite::sliced(result, axis, 0, length);
  }
  return result;
}

Tensor max_window(const Tensor& grad, const Tensor& x, const Tensor& indices) {
  const auto flattened = [](const Tensor& t) { return reshaped(t, {t.shape()[0], t.shape()[1], -1}); };
  if (x.size() == 0 || grad.size() == 0) return zeros(x.shape(), x.dtype(), x.device());
  // A window of padding alone has position -1 and nothing to give.
  const Tensor given = where(less(indices, 0), 0, grad);
  const Tensor into = flattened(zeros(x.shape(), x.dtype(), x.device()));
  return reshaped(prim::scatter_axis(into, flattened(indices), flattened(given), 2, "add"), x.shape());
}

Tensor sum_window(const Tensor& grad, const Tensor& x, const Ints& kernel, const Ints& stride, const Ints& padding_low,
                  const Ints& dilation) {
  const std::size_t n = kernel.size();
  // The windows' sums where their windows began, zeros between; then every element sums the windows it was in.
  Shape apart = grad.shape();
  std::vector<Scalar> starts;
  Ints axes;
  Ints low(n + 2, 0);
  Ints high(n + 2, 0);
  const Ints none(n, 0);
  const Ints one(n, 1);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t windows = grad.shape()[i + 2];
    const std::int64_t reach = dilation[i] * (kernel[i] - 1);
    const std::int64_t length = windows == 0 ? 0 : (windows - 1) * stride[i] + 1;
    apart[i + 2] = length;
    starts.emplace_back(std::int64_t{0});
    axes.push_back(static_cast<std::int64_t>(i) + 2);
    low[i + 2] = reach - padding_low[i];
    high[i + 2] = x.shape()[i + 2] - length + padding_low[i];
  }
  const Tensor spaced = prim::strided_update(zeros(apart, grad.dtype(), grad.device()), grad, starts, axes, stride);
  return prim::sum_window(prim::pad_constant(spaced, 0, low, high), kernel, one, none, none, dilation);
}

Tensor fft_r2c(const Tensor& grad, const Tensor& x, std::int64_t axis) {
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + x.rank() : axis);
  Ints low(x.shape().size(), 0);
  Ints high = low;
  high[at] = x.shape()[at] - grad.shape()[at];
  return real(prim::fft_c2c(prim::pad_constant(grad, 0, low, high), static_cast<std::int64_t>(at), true));
}

Tensor fft_c2r(const Tensor& grad, const Tensor& x, std::int64_t axis, std::int64_t size) {
  const std::int64_t at = axis < 0 ? axis + x.rank() : axis;
  const Tensor half = prim::fft_r2c(grad, at);
  // All but the first element, and the middle one of an even length, stand for two.
  const Tensor place =
      composite::along(composite::counting(half.shape()[static_cast<std::size_t>(at)], x.device()), at, x.rank());
  const Tensor single = logical_or(equal(place, 0), equal(2 * place, size));
  return half * where(single, 1.0, composite::number_tensor(2.0, real_type(half.dtype()), x.device()));
}

}  // namespace lento::rules

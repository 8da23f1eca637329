// Utilities (ops/utility.yaml) that are more than one expression.
#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/utility.calls.gen.h"

namespace lento::composite {

/// A value needs no copy. An empty handle is refused, as by every op.
Tensor copy(const Tensor& x) { return converted(x, x.dtype()); }

Tensor diff(const Tensor& x, std::int64_t n, std::int64_t axis, const std::optional<Tensor>& prepend,
            const std::optional<Tensor>& append) {
  if (n < 0) fail<ValueError>("the number of differences cannot be negative, got {}", n);
  const std::int64_t at = axis_of(x, axis);
  if (n == 0) return x;
  std::vector<Tensor> pieces;
  const auto joined_piece = [&](const Tensor& piece) {
    if (piece.rank() != 0) return piece;
    Shape shape = x.shape();
    shape[static_cast<std::size_t>(at)] = 1;
    return broadcast(piece, shape);
  };
  if (prepend) pieces.push_back(joined_piece(*prepend));
  pieces.push_back(x);
  if (append) pieces.push_back(joined_piece(*append));
  Tensor result = pieces.size() == 1 ? x : lento::concat(pieces, at);
  for (; n > 0; --n) {
    const std::int64_t gaps = result.shape()[static_cast<std::size_t>(at)] - 1;
    if (gaps < 0) return result;
    const Tensor later = sliced(result, at, 1, gaps);
    const Tensor earlier = sliced(result, at, 0, gaps);
    result = is_bool(result.dtype()) ? not_equal(later, earlier) : subtract(later, earlier);
  }
  return result;
}

Tensor astype(const Tensor& x, DType dtype, bool, std::optional<Device> device) {
  if (device && !(*device == x.device())) {
    fail<DeviceError>("the tensor is on {}, not on {}: move it first", x.device().to_string(), device->to_string());
  }
  return converted(x, dtype);
}

Tensor array_equal(const Tensor& x1, const Tensor& x2, bool equal_nan) {
  if (x1.shape() != x2.shape()) return number_tensor(false, DType::bool_, x1.device());
  Tensor same = equal(x1, x2);
  if (equal_nan && !is_bool(x1.dtype()) && !is_integer(x1.dtype()))
    same = bitwise_or(same, bitwise_and(isnan(x1), isnan(x2)));
  return prim::reduce_all(same, all_axes(same.rank()), false);
}

Tensor isclose(const Operand& x1, const Operand& x2, const Scalar& rtol, const Scalar& atol, bool equal_nan) {
  const Tensor a = to_float(x1.is_tensor() || !x2.is_tensor() ? as_tensor_beside(x1, x2)
                                                              : as_tensor_like(x1, to_float(x2.tensor())));
  const Tensor b = to_float(as_tensor_like(x2, a));
  const Tensor near = less_equal(abs(subtract(a, b)), add(atol, multiply(rtol, abs(b))));
  // An infinite tolerance must not make everything close to infinity; equal infinities are.
  Tensor close = bitwise_or(bitwise_and(near, isfinite(b)), equal(a, b));
  if (equal_nan) close = bitwise_or(close, bitwise_and(isnan(a), isnan(b)));
  return close;
}

}  // namespace lento::composite

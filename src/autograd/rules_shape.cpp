// Derivatives of reductions, scans and index maps.
#include <lento/differentiation.h>

#include "autograd/rules.h"
#include "autograd/rules_shape.calls.gen.h"
#include "base/fail.h"
#include "ops/composite_helpers.h"

namespace lento::rules {

using composite::converted;
using composite::reshaped;

namespace {

Ints from_front(const Ints& axes, std::int64_t rank) {
  Ints result = axes;
  for (std::int64_t& axis : result) axis += axis < 0 ? rank : 0;
  return result;
}

Shape kept_shape(const Tensor& x, const Ints& axes) {
  Shape shape = x.shape();
  for (const std::int64_t axis : from_front(axes, x.rank())) shape[static_cast<std::size_t>(axis)] = 1;
  return shape;
}

/// `x` with `count` zeros at the end of an axis.
Tensor filled(const Tensor& x, std::int64_t axis, std::int64_t count) {
  Ints high(static_cast<std::size_t>(x.rank()), 0);
  const Ints low = high;
  high[static_cast<std::size_t>(axis)] = count;
  return prim::pad_constant(x, 0, low, high);
}

/// a * b, where 0 times infinity counts nothing: the factors of a product that overflows are finite. So in all its
/// derivatives, and by either mode: the masks must not be those of a cotangent that forward mode has put in.
Tensor product_of_finite(const Tensor& a, const Tensor& b) {
  const auto value = [](const std::vector<Tensor>& x) {
    const auto nothing = [](const Tensor& zero, const Tensor& infinite) {
      return bitwise_and(equal(zero, 0), isinf(infinite));
    };
    return std::vector{where(bitwise_or(nothing(x[0], x[1]), nothing(x[1], x[0])), 0, x[0] * x[1])};
  };
  const auto slope = [](const std::vector<Tensor>& x, const std::vector<Tensor>& /*outputs*/,
                        const std::vector<Tensor>& grads) {
    return std::vector{product_of_finite(grads[0], conjugated(x[1])), product_of_finite(grads[0], conjugated(x[0]))};
  };
  return custom_gradient(value, slope, {a, b})[0];
}

}  // namespace

Tensor conjugated(const Tensor& x) { return is_complex(x.dtype()) ? lento::conj(x) : x; }

Tensor over_squares(const Tensor& x, const Tensor& y) {
  // By the length twice: squares of large and of small numbers are infinite or 0.
  const Tensor length = hypot(x, y);
  const Tensor divisor = where(equal(length, 0), 1, length);
  return x / divisor / divisor;
}

Tensor spread(const Tensor& grad, const Tensor& x, const Ints& axes, bool keepdims) {
  return broadcast_to(keepdims ? grad : reshaped(grad, kept_shape(x, axes)), x.shape());
}

Tensor reduce_prod(const Tensor& grad, const Tensor& x, const Ints& axes, bool keepdims) {
  const Ints reduced = from_front(axes, x.rank());
  // The reduced axes last, as one.
  Ints order;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    if (std::find(reduced.begin(), reduced.end(), axis) == reduced.end()) order.push_back(axis);
  }
  Shape shape;
  for (const std::int64_t axis : order) shape.push_back(x.shape()[static_cast<std::size_t>(axis)]);
  std::int64_t length = 1;
  for (const std::int64_t axis : reduced) {
    order.push_back(axis);
    length *= x.shape()[static_cast<std::size_t>(axis)];
  }
  shape.push_back(length);
  const Tensor moved = prim::permute_dims(x, order);
  const Tensor others = reshaped(composite::product_of_others(reshaped(moved, shape)), moved.shape());
  return spread(grad, x, axes, keepdims) * conjugated(permute_back(others, order));
}

Tensor reduce_extreme(const Tensor& grad, const Tensor& x, const Tensor& result, const Ints& axes, bool keepdims) {
  const Tensor chosen = converted(equal(x, spread(result, x, axes, keepdims)), grad.dtype());
  const Tensor count = prim::reduce_sum(chosen, axes, keepdims);
  return chosen * spread(grad / count, x, axes, keepdims);
}

Tensor reverse_sum(const Tensor& grad, std::int64_t axis) {
  return flip(prim::scan_sum(flip(grad, Ints{axis}), axis), Ints{axis});
}

Tensor scan_prod(const Tensor& grad, const Tensor& x, std::int64_t axis) {
  const std::int64_t at = axis < 0 ? axis + x.rank() : axis;
  const std::int64_t length = x.shape()[static_cast<std::size_t>(at)];
  if (length == 0) return grad;
  // What comes back to element i is the product before it, times s_i = g_i + x_(i+1) s_(i+1). Each round takes twice as
  // many terms together; factor_i is the product of the `reach` elements behind i, where there are as many.
  const auto from = [&](const Tensor& t, std::int64_t start, std::int64_t size) {
    return composite::sliced(t, at, start, size);
  };
  Tensor sum = grad;
  Tensor factor = from(conjugated(x), 1, length - 1);
  for (std::int64_t reach = 1; reach < length; reach *= 2) {
    sum = sum + filled(product_of_finite(factor, from(sum, reach, length - reach)), at, reach);
    const std::int64_t left = length - 2 * reach;
    if (left > 0) factor = product_of_finite(from(factor, 0, left), from(factor, reach, left));
  }
  // What is not even defined, a sum of infinities or an infinite product times 0, counts nothing either beside 0.
  const Tensor before = conjugated(composite::product_before(x, at));
  const auto beside = [](const Tensor& a, const Tensor& b) { return where(bitwise_and(equal(b, 0), isnan(a)), 0, a); };
  return product_of_finite(beside(sum, before), beside(before, sum));
}

Tensor scan_extreme(const Tensor& grad, const Tensor& x, const Tensor& result, std::int64_t axis) {
  const std::int64_t at = axis < 0 ? axis + x.rank() : axis;
  const Tensor place =
      composite::along(composite::counting(x.shape()[static_cast<std::size_t>(at)], x.device()), at, x.rank());
  const Tensor from = prim::scan_max(where(equal(x, result), place, 0), at);
  return prim::scatter_axis(zeros_like(x), from, grad, at, "add");
}

Tensor permute_back(const Tensor& grad, const Ints& axes) {
  const Ints order = from_front(axes, grad.rank());
  Ints back(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return prim::permute_dims(grad, back);
}

Tensor as_strided(const Tensor& grad, const Tensor& x, const Scalar& offset, const Ints& sizes, const Ints& strides) {
  const auto rank = static_cast<std::int64_t>(sizes.size());
  Tensor positions = composite::number_tensor(offset, DType::int64, x.device());
  for (std::int64_t i = 0; i < rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Tensor steps = prim::iota(sizes[at], 0, strides[at], DType::int64, x.device());
    positions = add(positions, composite::along(steps, i, rank));
  }
  return take_axis(grad, x, positions, x.rank() - 1);
}

Tensor unslice(const Tensor& grad, const Tensor& x, const std::vector<Scalar>& starts, const Ints& axes,
               const Ints& steps) {
  return prim::strided_update(zeros_like(x), grad, starts, axes, steps);
}

Tensor reslice(const Tensor& grad, const Tensor& value, const std::vector<Scalar>& starts, const Ints& axes,
               const Ints& steps) {
  Ints sizes;
  for (const std::int64_t axis : from_front(axes, value.rank())) {
    sizes.push_back(value.shape()[static_cast<std::size_t>(axis)]);
  }
  return prim::strided_slice(grad, starts, axes, sizes, steps);
}

Tensor unpad(const Tensor& grad, const Ints& low, const Ints& high) {
  Ints less_low = low;
  Ints less_high = high;
  for (std::int64_t& amount : less_low) amount = -amount;
  for (std::int64_t& amount : less_high) amount = -amount;
  return prim::pad_constant(grad, 0, less_low, less_high);
}

std::vector<Tensor> split_like(const Tensor& grad, const std::vector<Tensor>& parts, std::int64_t axis) {
  const std::int64_t at = axis < 0 ? axis + grad.rank() : axis;
  std::vector<Tensor> result;
  std::int64_t start = 0;
  for (const Tensor& part : parts) {
    const std::int64_t size = part.shape()[static_cast<std::size_t>(at)];
    result.push_back(composite::sliced(grad, at, start, size));
    start += size;
  }
  return result;
}

}  // namespace lento::rules

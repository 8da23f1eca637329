// Finding elements (ops/searching.yaml). The number of elements found decides a shape and is evaluated; everything else
// is lazy.
#include "base/fail.h"
#include "ir/shape_limit.h"
#include "ops/composite_helpers.h"
#include "ops/evaluated_count.h"
#include "ops/searching.calls.gen.h"

#include <algorithm>

namespace lento::composite {

namespace {

Tensor position_of_extreme(const Tensor& x, std::optional<std::int64_t> axis, bool keepdims, bool largest) {
  const auto found = [&](const Tensor& values, std::int64_t at, bool keep) {
    return largest ? prim::arg_max(values, at, keep) : prim::arg_min(values, at, keep);
  };
  if (axis) {
    if (x.rank() == 0 && (*axis == 0 || *axis == -1)) return reshaped(found(flat(x), 0, false), Shape{});
    return found(x, axis_of(x, *axis), keepdims);
  }
  const Tensor position = found(flat(x), 0, false);
  return keepdims ? reshaped(position, Shape(x.shape().size(), 1)) : position;
}

/// Row-major positions of the nonzero elements; evaluates their number.
Tensor nonzero_positions(const Tensor& x) { return prim::flat_nonzero(x, evaluated_count(x)); }

/// The coordinates in `shape` of row-major positions, outermost first.
std::vector<Tensor> coordinates(const Tensor& positions, const Shape& shape) {
  std::vector<Tensor> result(shape.size());
  Tensor rest = positions;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const std::int64_t extent = std::max<std::int64_t>(shape[i], 1);
    result[i] = i == 0 ? rest : remainder(rest, extent);
    if (i > 0) rest = floor_divide(rest, extent);
  }
  return result;
}

}  // namespace

Tensor argmax(const Tensor& x, std::optional<std::int64_t> axis, bool keepdims) {
  return position_of_extreme(x, axis, keepdims, true);
}

Tensor argmin(const Tensor& x, std::optional<std::int64_t> axis, bool keepdims) {
  return position_of_extreme(x, axis, keepdims, false);
}

std::vector<Tensor> nonzero(const Tensor& x) {
  if (x.rank() == 0) fail<ValueError>("{} has no axes along which positions could be counted", type_of(x));
  return coordinates(nonzero_positions(x), x.shape());
}

Tensor argwhere(const Tensor& x) {
  const Tensor positions = nonzero_positions(x);
  const auto rank = static_cast<std::int64_t>(x.shape().size());
  if (rank == 0) return number_tensor(0, DType::int64, x.device(), Shape{positions.size(), 0});
  std::vector<Tensor> columns;
  for (const Tensor& column : coordinates(positions, x.shape())) columns.push_back(with_axis(column, 1));
  return columns.size() == 1 ? columns.front() : prim::concatenate(columns, 1);
}

Tensor flatnonzero(const Tensor& x) { return nonzero_positions(x); }

Tensor searchsorted(const Tensor& x1, const Operand& x2, std::string_view side, const std::optional<Tensor>& sorter) {
  if (x1.rank() != 1) fail<ShapeError>("the sorted tensor must have one axis, got {}", type_of(x1));
  const Tensor values = as_tensor_like(x2, x1);
  const DType common = promote(x1.dtype(), values.dtype());
  Tensor sorted = x1;
  if (sorter) {
    if (sorter->shape() != x1.shape())
      fail<ShapeError>("the sorter {} must have the shape of {}", type_of(*sorter), type_of(x1));
    sorted = prim::take_axis(x1, *sorter, 0);
  }
  return prim::search_sorted(converted(sorted, common), converted(values, common), side == "right");
}

Tensor digitize(const Tensor& x, const Tensor& bins, bool right) {
  if (bins.rank() != 1) fail<ShapeError>("the bins must have one axis, got {}", type_of(bins));
  const std::string_view side = right ? "left" : "right";
  Tensor rising = lento::searchsorted(bins, x, side);
  if (bins.size() < 2) return rising;
  // Which way the bins run is data, so both answers are recorded and one is chosen.
  const Tensor falling = subtract(bins.size(), lento::searchsorted(lento::flip(bins), x, right ? "left" : "right"));
  return where(less_equal(picked(bins, 0, 0), picked(bins, 0, bins.size() - 1)), rising, falling);
}

TopkResult topk(const Tensor& x, std::int64_t k, std::int64_t axis, bool largest, bool) {
  if (x.rank() == 0) fail<ShapeError>("{} has no axis to choose from", type_of(x));
  const auto [values, indices] = prim::top_k(x, k, axis_of(x, axis), largest);
  return {values, indices};
}

KthvalueResult kthvalue(const Tensor& x, std::int64_t k, std::int64_t axis, bool keepdims) {
  const std::int64_t at = axis_of(x, axis);
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(at)];
  if (k < 1 || k > extent)
    fail<ValueError>("k is {}, it must be from 1 to the length {} of axis {} of {}", k, extent, axis, type_of(x));
  const Tensor order = prim::sort_indices(x, at, false);
  const Tensor position = sliced(order, at, k - 1, 1);
  const Tensor value = prim::take_along_axis(x, position, at);
  if (keepdims) return {value, position};
  return {drop_axis(value, at), drop_axis(position, at)};
}

std::vector<Tensor> unravel_index(const Tensor& indices, const Ints& shape) { return coordinates(indices, shape); }

Tensor ravel_multi_index(const std::vector<Tensor>& indices, const Ints& shape) {
  if (indices.size() != shape.size() || indices.empty()) {
    fail<ValueError>("{} coordinates do not fit shape {}", indices.size(), shape);
  }
  (void)counted(shape);  // every position can be counted
  Tensor position = indices.front();
  for (std::size_t i = 1; i < shape.size(); ++i) position = add(multiply(position, shape[i]), indices[i]);
  return position;
}

}  // namespace lento::composite

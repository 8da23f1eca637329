// Elements put between others and taken out (ops/manipulation.yaml: insert, delete_).
#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/evaluated_count.h"
#include "ops/inserting.calls.gen.h"
#include "ops/nonnegative_index.h"

namespace lento::composite {

namespace {

/// What is changed: the tensor and one of its axes, or without an axis all elements as a vector.
struct Target {
  Tensor x;
  std::int64_t axis;
  std::int64_t extent;
};

Target target_of(const Tensor& x, std::optional<std::int64_t> axis) {
  const Tensor source = axis ? x : flat(x);
  const std::int64_t at = axis ? axis_of(x, *axis) : 0;
  return {source, at, source.shape()[static_cast<std::size_t>(at)]};
}

/// The positions, which are integers or, with `masks`, bools. No positions at all may have any dtype, as an empty list.
Tensor positions_of(const Operand& indices, const Tensor& x, std::int64_t extent, std::int64_t last, bool masks) {
  if (!indices.is_tensor() && indices.scalar().kind() == Scalar::Kind::int_) {
    const auto position = indices.scalar().to<std::int64_t>();
    if (position < -extent || position > last)
      fail<IndexError>("position {} is out of range for an axis of size {}", position, extent);
  }
  Tensor made = indices.is_tensor() ? indices.tensor()
                                    : number_tensor(indices.scalar(), default_dtype(indices.scalar()), x.device());
  if (made.rank() > 1) fail<ShapeError>("the positions {} must be a number or a vector", type_of(made));
  if (made.size() == 0) return number_tensor(0, DType::int64, x.device(), Shape{0});
  if (masks && is_bool(made.dtype())) return made;
  if (!is_integer(made.dtype())) fail<DTypeError>("the positions must be integers, got {}", type_of(made));
  return signed_index(made);
}

}  // namespace

Tensor insert(const Tensor& x, const Operand& indices, const Operand& values, std::optional<std::int64_t> axis) {
  const auto [source, at, extent] = target_of(x, axis);
  const Tensor positions = positions_of(indices, source, extent, extent, false);
  Tensor inserted = stored_as(values, source);
  Shape shape = inserted.shape();
  while (static_cast<std::int64_t>(shape.size()) < source.rank()) shape.insert(0, 1);
  inserted = reshaped(inserted, shape);
  // At one position, not in a vector, the first axis of the values counts what is inserted.
  if (positions.rank() == 0 && source.rank() > 0) inserted = move_axis(inserted, 0, at);
  const std::int64_t count = positions.size() == 1 ? inserted.shape()[static_cast<std::size_t>(at)] : positions.size();
  Shape places = source.shape();
  places[static_cast<std::size_t>(at)] = count;
  inserted = broadcast(inserted, places);
  // Positions from 0 to `extent`, looked up in a list of them so that others are refused.
  const Tensor from_front = where(less(positions, 0), add(positions, extent), positions);
  const Tensor valid = prim::take_axis(counting(extent + 1, x.device()), nonnegative_index(flat(from_front)), 0);
  // An element of `x` has an odd number, what comes before it the even one below.
  const Tensor old_order = add(multiply(counting(extent, x.device()), 2), 1);
  const Tensor new_order = broadcast(multiply(valid, 2), Shape{count});
  const Tensor order = prim::sort_indices(prim::concatenate({old_order, new_order}, 0), 0, false);
  return prim::take_axis(prim::concatenate({source, inserted}, at), order, at);
}

Tensor delete_(const Tensor& x, const Operand& indices, std::optional<std::int64_t> axis) {
  const auto [source, at, extent] = target_of(x, axis);
  const Tensor positions = positions_of(indices, source, extent, extent - 1, true);
  if (positions.size() == 0) return source;
  Tensor kept;
  const bool mask = is_bool(positions.dtype());
  if (mask) {
    if (positions.rank() != 1 || positions.size() != extent)
      fail<ShapeError>("the mask {} must be a vector of {} elements", type_of(positions), extent);
    kept = logical_not(positions);
  } else {
    const Tensor gone = number_tensor(false, DType::bool_, x.device(), Shape{positions.size()});
    const Tensor all = number_tensor(true, DType::bool_, x.device(), Shape{extent});
    kept = prim::scatter_nd(all, gone, {flat(positions)}, "set");
  }
  const std::int64_t count = !mask && positions.size() == 1 ? extent - 1 : evaluated_count(kept);
  return prim::take_axis(source, prim::flat_nonzero(kept, count), at);
}

}  // namespace lento::composite

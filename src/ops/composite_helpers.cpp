#include "ops/composite_helpers.h"

#include "base/fail.h"
#include "ir/infer_common.h"

#include <algorithm>
#include <numeric>

namespace lento::composite {

namespace {

Meta meta(const Tensor& x) { return {x.dtype(), x.shape()}; }

/// 0 bool, 1 integer, 2 floating, 3 complex.
int kind_rank(DType dtype) { return is_complex(dtype) ? 3 : is_floating(dtype) ? 2 : is_integer(dtype) ? 1 : 0; }

}  // namespace

std::string type_of(const Tensor& x) { return fmt::format("{}{}", x.dtype(), x.shape()); }

std::string types_of(const std::vector<Tensor>& tensors) {
  std::string text;
  for (const Tensor& x : tensors) text += (text.empty() ? "" : ", ") + type_of(x);
  return text;
}

std::int64_t axis_of(const Tensor& x, std::int64_t axis) { return normalized_axis(axis, meta(x)); }

std::int64_t checked_axis(std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) fail<IndexError>("axis {} is out of range for {} axes", axis, rank);
  return axis < 0 ? axis + count : axis;
}

Ints ordered_axes_of(const Tensor& x, const Ints& axes) { return normalized_axes(axes, meta(x)); }

Ints axes_of(const Tensor& x, const std::optional<Ints>& axes) {
  if (!axes) return all_axes(x.rank());
  Ints result = ordered_axes_of(x, *axes);
  std::sort(result.begin(), result.end());
  return result;
}

Ints all_axes(std::int64_t rank) {
  Ints axes(static_cast<std::size_t>(rank), 0);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Ints axes_from(std::size_t first, std::size_t rank) {
  Ints axes;
  for (std::size_t axis = first; axis < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  return axes;
}

std::int64_t count_along(const Tensor& x, const Ints& axes) {
  std::int64_t count = 1;
  for (const std::int64_t axis : axes) count *= x.shape()[static_cast<std::size_t>(axis)];
  return count;
}

void require_rank(const Tensor& x, std::int64_t least, const char* what) {
  if (x.rank() < least) fail<ShapeError>("{} has too few axes: {} has at least {}", type_of(x), what, least);
}

Tensor converted(const Tensor& x, DType dtype) { return x.dtype() == dtype ? x : prim::astype(x, dtype); }

std::vector<Tensor> all_converted(const std::vector<Tensor>& tensors, DType dtype) {
  std::vector<Tensor> result;
  result.reserve(tensors.size());
  for (const Tensor& x : tensors) result.push_back(converted(x, dtype));
  return result;
}

DType promoted_dtype(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) fail<ValueError>("at least one tensor is needed");
  DType dtype = tensors.front().dtype();
  for (const Tensor& x : tensors) dtype = promote(dtype, x.dtype());
  return dtype;
}

Tensor to_float(const Tensor& x) { return converted(x, kind_rank(x.dtype()) < 2 ? kDefaultFloat : x.dtype()); }

Tensor to_wide_float(const Tensor& x) {
  return converted(x, kind_rank(x.dtype()) < 2 || is_half(x.dtype()) ? DType::float32 : x.dtype());
}

DType wide_type(DType dtype) { return is_half(dtype) ? DType::float32 : dtype; }

Tensor widen(const Tensor& x) { return converted(x, wide_type(x.dtype())); }

Tensor number_tensor(const Scalar& value, DType dtype, Device device, const Shape& shape) {
  if (!fits(value, dtype)) fail<OverflowError>("the integer {} does not fit {}", value, dtype);
  return prim::full(shape, value, dtype, device);
}

Tensor as_tensor(const Operand& operand, DType dtype, Device device) {
  if (operand.is_tensor()) return converted(operand.tensor(), dtype);
  return number_tensor(operand.scalar(), dtype, device);
}

Tensor as_tensor_like(const Operand& operand, const Tensor& like) {
  if (operand.is_tensor()) return operand.tensor();
  return number_tensor(operand.scalar(), weak_promote(like.dtype(), operand.scalar()), like.device());
}

Tensor as_tensor_beside(const Operand& operand, const Operand& other) {
  if (other.is_tensor() || operand.is_tensor())
    return as_tensor_like(operand, other.is_tensor() ? other.tensor() : operand.tensor());
  return number_tensor(operand.scalar(), default_dtype(operand.scalar()), Device());
}

void require_storable(DType from, DType to) {
  if (kind_rank(from) <= kind_rank(to)) return;
  fail<DTypeError>("a value of dtype {} cannot be stored in a tensor of dtype {}{}", from, to,
                   is_bool(to) ? "; compare it first, as in value != 0" : "");
}

Tensor stored_as(const Operand& value, const Tensor& x) {
  // 0 and 1 are what programs write for false and true.
  if (is_bool(x.dtype()) && !value.is_tensor() && value.scalar().kind() == Scalar::Kind::int_) {
    const auto number = value.scalar().to<std::int64_t>();
    if (number == 0 || number == 1) return number_tensor(number == 1, DType::bool_, x.device());
  }
  require_storable(value.is_tensor() ? value.tensor().dtype() : default_dtype(value.scalar()), x.dtype());
  return as_tensor(value, x.dtype(), x.device());
}

Tensor reshaped(const Tensor& x, const Shape& shape) { return x.shape() == shape ? x : prim::reshape(x, shape); }

Tensor with_own_identity(const Tensor& x) { return prim::reshape(x, x.shape()); }

Tensor flat(const Tensor& x) { return reshaped(x, Shape{x.size()}); }

Tensor permuted(const Tensor& x, const Ints& axes) {
  return axes == all_axes(x.rank()) ? x : prim::permute_dims(x, axes);
}

Tensor broadcast(const Tensor& x, const Shape& shape) { return x.shape() == shape ? x : prim::broadcast_to(x, shape); }

Shape common_shape(std::span<const Tensor> tensors) {
  std::vector<Meta> metas;
  metas.reserve(tensors.size());
  for (const Tensor& x : tensors) metas.push_back(meta(x));
  return broadcast_all(metas);
}

Shape without_axes(const Shape& shape, const Ints& axes, bool keep) {
  Shape result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
    if (!reduced) result.push_back(shape[axis]);
    if (reduced && keep) result.push_back(1);
  }
  return result;
}

Tensor with_axis(const Tensor& x, std::int64_t axis) {
  Shape shape = x.shape();
  shape.insert(static_cast<std::size_t>(checked_axis(axis, shape.size() + 1)), 1);
  return prim::reshape(x, shape);
}

Tensor drop_axis(const Tensor& x, std::int64_t axis) {
  Shape shape = x.shape();
  shape.erase(static_cast<std::size_t>(checked_axis(axis, shape.size())));
  return prim::reshape(x, shape);
}

Tensor move_axis(const Tensor& x, std::int64_t from, std::int64_t to) {
  Ints axes = all_axes(x.rank());
  axes.erase(static_cast<std::size_t>(from));
  axes.insert(static_cast<std::size_t>(to), from);
  return permuted(x, axes);
}

Tensor swap_last(const Tensor& x) {
  Ints axes = all_axes(x.rank());
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return prim::permute_dims(x, axes);
}

Tensor sliced(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t size, std::int64_t step) {
  // Whole axes need no slice; an empty part may start anywhere.
  if (start == 0 && step == 1 && size == x.shape()[static_cast<std::size_t>(axis)]) return x;
  return prim::strided_slice(x, {Scalar(size == 0 ? 0 : start)}, Ints{axis}, Ints{size}, Ints{step});
}

Tensor picked(const Tensor& x, std::int64_t axis, std::int64_t position) {
  return drop_axis(sliced(x, axis, position, 1), axis);
}

Tensor along(const Tensor& vector, std::int64_t axis, std::int64_t rank) {
  Shape shape(static_cast<std::size_t>(rank), 1);
  shape[static_cast<std::size_t>(axis)] = vector.size();
  return reshaped(vector, shape);
}

Tensor counting(std::int64_t size, Device device, DType dtype) { return prim::iota(size, 0, 1, dtype, device); }

Tensor sum_over(const Tensor& x, const Ints& axes, bool keep) { return prim::reduce_sum(x, axes, keep); }

Tensor sum_kept(const Tensor& x, const Ints& axes) { return sum_over(x, axes, true); }

Tensor mean_kept(const Tensor& x, const Ints& axes) {
  return divide(sum_kept(x, axes), static_cast<double>(count_along(x, axes)));
}

Tensor sum_in_runs(Tensor x, Ints axes) {
  while (!axes.empty()) {
    Ints run{axes.back()};
    axes.pop_back();
    while (!axes.empty() && axes.back() == run.front() - 1) {
      run.insert(0, axes.back());
      axes.pop_back();
    }
    x = sum_kept(x, run);
  }
  return x;
}

Tensor mean_in_runs(const Tensor& x, const Ints& axes) {
  return divide(sum_in_runs(x, axes), static_cast<double>(count_along(x, axes)));
}

Tensor max_kept(const Tensor& x, const Ints& axes) { return prim::reduce_max(x, axes, true); }

Tensor product_before(const Tensor& x, std::int64_t axis) {
  Ints low(x.shape().size(), 0);
  Ints high = low;
  low[static_cast<std::size_t>(axis)] = 1;
  high[static_cast<std::size_t>(axis)] = -1;
  return prim::pad_constant(prim::scan_prod(x, axis), 1, low, high);
}

Tensor product_of_others(const Tensor& x) {
  if (x.shape().back() == 0) return x;
  const std::int64_t last = x.rank() - 1;
  const Ints axes{last};
  return multiply(product_before(x, last), lento::flip(product_before(lento::flip(x, axes), last), axes));
}

Tensor count_true(const Tensor& mask, const Ints& axes, bool keep) {
  return sum_over(converted(mask, DType::int64), axes, keep);
}

Scalar zero_of(DType dtype) { return is_bool(dtype) ? Scalar(false) : Scalar(0); }

DType sum_dtype(DType dtype) {
  if (is_bool(dtype) || is_signed_integer(dtype)) return DType::int64;
  return is_unsigned_integer(dtype) ? DType::uint64 : dtype;
}

}  // namespace lento::composite

// Reading and writing at positions held by tensors (ops/indexing.yaml). `x[{...}]` itself is in subscript.cpp.
#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/evaluated_count.h"
#include "ops/indexing.calls.gen.h"
#include "ops/nonnegative_index.h"

#include <algorithm>

namespace lento::composite {

namespace {

void require_integers(const Tensor& indices) {
  if (!is_integer(indices.dtype())) fail<DTypeError>("the indices must be integers, got {}", type_of(indices));
}

void require_mask(const Tensor& mask) {
  if (!is_bool(mask.dtype())) fail<DTypeError>("the mask must be bool, got {}", type_of(mask));
}

/// The indices of all axes of a place that `gather` reads: `index` along `axis`, its own coordinate along the others.
std::vector<Tensor> grid(const Tensor& index, std::int64_t axis) {
  std::vector<Tensor> result;
  for (std::int64_t i = 0; i < index.rank(); ++i) {
    result.push_back(
        i == axis ? index
                  : along(counting(index.shape()[static_cast<std::size_t>(i)], index.device()), i, index.rank()));
  }
  return result;
}

/// Checks an index of `gather` and `scatter` and returns the axis from the front.
std::int64_t checked_gather(const Tensor& x, std::int64_t axis, const Tensor& index) {
  require_integers(index);
  const std::int64_t at = axis_of(x, axis);
  bool good = index.rank() == x.rank();
  for (std::int64_t i = 0; good && i < x.rank(); ++i) {
    good = i == at || index.shape()[static_cast<std::size_t>(i)] <= x.shape()[static_cast<std::size_t>(i)];
  }
  if (!good)
    fail<ShapeError>("the index {} must have as many axes as {} and be nowhere longer beside axis {}", type_of(index),
                     type_of(x), axis);
  return at;
}

/// The first elements of `src` along each axis, as many as `index` has.
Tensor cut_to(const Tensor& src, const Tensor& index) {
  bool good = src.rank() == index.rank();
  Tensor result = src;
  for (std::int64_t i = 0; good && i < index.rank(); ++i) {
    const std::int64_t wanted = index.shape()[static_cast<std::size_t>(i)];
    good = src.shape()[static_cast<std::size_t>(i)] >= wanted;
    if (good) result = sliced(result, i, 0, wanted);
  }
  if (!good)
    fail<ShapeError>("the source {} must have as many axes as the index {} and be nowhere shorter", type_of(src),
                     type_of(index));
  return result;
}

/// Writes `value` of the shape of `index` at the places that gather reads.
Tensor scattered(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& value, std::string_view mode) {
  if (index.size() == 0) return x;
  return prim::scatter_nd(x, value, grid(index, axis), mode);
}

/// `x` with `source` combined into the slices at `index` along an axis; `source` is broadcast to their shape.
Tensor into_slices(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& source,
                   std::string_view mode) {
  require_integers(index);
  if (index.rank() > 1) fail<ShapeError>("the index {} must be a vector", type_of(index));
  const Tensor wide = x.rank() == 0 ? flat(x) : x;
  const std::int64_t at = axis_of(wide, axis);
  Shape shape = wide.shape();
  shape[static_cast<std::size_t>(at)] = index.size();
  if (index.size() == 0) return x;
  const Tensor values = broadcast(source, shape);
  const Tensor front = prim::scatter_nd(move_axis(wide, at, 0), move_axis(values, at, 0), {flat(index)}, mode);
  return reshaped(move_axis(front, 0, at), x.shape());
}

/// A source whose shape says which slices it has: as x, with the length of the index along the axis.
Tensor slices_of(const Tensor& source, const Tensor& x, std::int64_t axis, const Tensor& index) {
  Tensor values = converted(source, x.dtype());
  Shape shape = x.rank() == 0 ? Shape{1} : x.shape();
  const std::int64_t at = x.rank() == 0 ? 0 : axis_of(x, axis);
  shape[static_cast<std::size_t>(at)] = index.size();
  if (values.size() == element_count(shape) && values.rank() < static_cast<std::int64_t>(shape.size()))
    return reshaped(values, shape);
  if (values.shape() != shape) {
    fail<ShapeError>("the source {} must have the shape {}, that of {} with the length of the index along axis {}",
                     type_of(source), shape, type_of(x), axis);
  }
  return values;
}

Tensor chosen_positions(const Tensor& condition) { return prim::flat_nonzero(condition, evaluated_count(condition)); }

}  // namespace

Tensor take(const Tensor& x, const Tensor& indices, std::optional<std::int64_t> axis) {
  require_integers(indices);
  return axis ? prim::take_axis(x, indices, axis_of(x, *axis)) : prim::take_axis(flat(x), indices, 0);
}

Tensor take_along_axis(const Tensor& x, const Tensor& indices, std::optional<std::int64_t> axis) {
  require_integers(indices);
  if (!axis) return prim::take_along_axis(flat(x), flat(indices), 0);
  const std::int64_t at = axis_of(x, *axis);
  if (indices.rank() != x.rank())
    fail<ShapeError>("the indices {} must have as many axes as {}", type_of(indices), type_of(x));
  Shape of_x = x.shape();
  Shape of_indices = indices.shape();
  for (std::size_t i = 0; i < of_x.size(); ++i) {
    if (static_cast<std::int64_t>(i) == at) continue;
    if (of_x[i] != of_indices[i] && of_x[i] != 1 && of_indices[i] != 1) {
      fail<ShapeError>("the indices {} cannot be broadcast against {} beside axis {}", type_of(indices), type_of(x),
                       *axis);
    }
    const std::int64_t extent = of_x[i] == 1 ? of_indices[i] : of_x[i];
    of_x[i] = of_indices[i] = extent;
  }
  return prim::take_along_axis(broadcast(x, of_x), broadcast(indices, of_indices), at);
}

Tensor put_along_axis(const Tensor& x, const Tensor& indices, const Operand& values, std::int64_t axis) {
  require_integers(indices);
  const std::int64_t at = axis_of(x, axis);
  if (indices.rank() != x.rank())
    fail<ShapeError>("the indices {} must have as many axes as {}", type_of(indices), type_of(x));
  Shape shape = x.shape();
  shape[static_cast<std::size_t>(at)] = indices.shape()[static_cast<std::size_t>(at)];
  const Tensor everywhere = broadcast(indices, shape);
  const Tensor stored = broadcast(stored_as(values, x), shape);
  return everywhere.size() == 0 ? x : prim::scatter_axis(x, everywhere, stored, at, "set");
}

Tensor gather(const Tensor& x, std::int64_t axis, const Tensor& index) {
  return prim::take_along_axis(x, index, checked_gather(x, axis, index));
}

Tensor scatter(const Tensor& x, std::int64_t axis, const Tensor& index, const Operand& src, std::string_view reduce) {
  const std::int64_t at = checked_gather(x, axis, index);
  const Tensor stored = stored_as(src, x);
  const Tensor value = src.is_tensor() ? cut_to(stored, index) : broadcast(stored, index.shape());
  const std::string_view mode = reduce == "none"   ? "set"
                                : reduce == "amin" ? "minimum"
                                : reduce == "amax" ? "maximum"
                                                   : reduce;
  return scattered(x, at, index, value, mode);
}

Tensor scatter_reduce(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& src,
                      std::string_view reduce, bool include_self) {
  const std::int64_t at = checked_gather(x, axis, index);
  const Tensor value = cut_to(stored_as(src, x), index);
  const bool mean = reduce == "mean";
  const std::string_view mode = reduce == "sum" || mean ? "add"
                                : reduce == "prod"      ? "multiply"
                                : reduce == "amax"      ? "maximum"
                                                        : "minimum";
  if (include_self && !mean) return scattered(x, at, index, value, mode);
  const Tensor ones = number_tensor(1, DType::int64, x.device(), index.shape());
  const Tensor writes = scattered(number_tensor(0, DType::int64, x.device(), x.shape()), at, index, ones, "add");
  const Tensor touched = greater(writes, 0);
  Tensor start = x;
  if (!include_self) {
    // Elements that are written to start from what changes nothing; the first write decides for extremes.
    start = mode == "add"        ? where(touched, 0, x)
            : mode == "multiply" ? where(touched, 1, x)
                                 : scattered(x, at, index, value, "set");
  }
  Tensor combined = scattered(start, at, index, value, mode);
  if (!mean) return combined;
  const Tensor divisor = maximum(add(writes, include_self ? 1 : 0), 1);
  return is_floating(x.dtype()) ? divide(combined, converted(divisor, x.dtype()))
                                : floor_divide(combined, converted(divisor, x.dtype()));
}

Tensor index_select(const Tensor& x, std::int64_t axis, const Tensor& index) {
  require_integers(index);
  if (index.rank() > 1) fail<ShapeError>("the index {} must be a vector", type_of(index));
  return prim::take_axis(x, flat(index), axis_of(x, axis));
}

Tensor index_add(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  const Tensor slices = slices_of(source, x, axis, index);
  const bool plain = alpha.is_integer() && alpha.to<std::int64_t>() == 1;
  return into_slices(x, axis, index, plain ? slices : converted(multiply(slices, alpha), x.dtype()), "add");
}

Tensor index_copy(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& source) {
  require_storable(source.dtype(), x.dtype());
  return into_slices(x, axis, index, slices_of(source, x, axis, index), "set");
}

Tensor index_fill(const Tensor& x, std::int64_t axis, const Tensor& index, const Operand& value) {
  const Tensor stored = stored_as(value, x);
  if (stored.size() != 1) fail<ShapeError>("one value is needed, got {}", type_of(stored));
  return into_slices(x, axis, index, reshaped(stored, Shape{}), "set");
}

Tensor index_put(const Tensor& x, const std::vector<Tensor>& indices, const Operand& values, bool accumulate) {
  if (!accumulate) {
    const std::vector<Index> index(indices.begin(), indices.end());
    return set_item(x, index, values);
  }
  std::vector<Tensor> positions;
  for (const Tensor& index : indices) {
    if (is_bool(index.dtype())) {
      for (const Tensor& each : lento::nonzero(index)) positions.push_back(each);
    } else {
      require_integers(index);
      positions.push_back(index);
    }
  }
  if (positions.empty() || static_cast<std::int64_t>(positions.size()) > x.rank()) {
    fail<IndexError>("{} index tensors for {}, which has {} axes", positions.size(), type_of(x), x.rank());
  }
  Shape shape = common_shape(positions);
  shape.append(x.shape().span().subspan(positions.size()));
  return prim::scatter_nd(x, broadcast(stored_as(values, x), shape), positions, "add");
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value) {
  require_mask(mask);
  const Tensor stored = stored_as(value, x);
  if (stored.size() != 1) fail<ShapeError>("one value is needed, got {}", type_of(stored));
  return where(mask, reshaped(stored, Shape{}), x);
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  require_mask(mask);
  const std::vector<Tensor> both{x, mask};
  const Shape shape = common_shape(both);
  const Tensor positions = chosen_positions(broadcast(mask, shape));
  const Tensor values = flat(broadcast(x, shape));
  return values.size() == 0 ? values : prim::take_axis(values, positions, 0);
}

Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source) {
  require_mask(mask);
  require_storable(source.dtype(), x.dtype());
  const Tensor everywhere = broadcast(mask, x.shape());
  if (x.size() == 0) return x;
  if (source.size() == 0) fail<ShapeError>("the source {} has no elements", type_of(source));
  const Tensor rank_among_true = subtract(prim::scan_sum(converted(flat(everywhere), DType::int64), 0), 1);
  // Where the mask is false any position inside will do.
  const Tensor positions = where(flat(everywhere), rank_among_true, 0);
  const Tensor values = prim::take_axis(flat(converted(source, x.dtype())), positions, 0);
  return where(everywhere, reshaped(values, x.shape()), x);
}

Tensor compress(const Tensor& condition, const Tensor& x, std::optional<std::int64_t> axis) {
  if (condition.rank() != 1) fail<ShapeError>("the condition must be a vector, got {}", type_of(condition));
  const Tensor source = axis ? x : flat(x);
  return prim::take_axis(source, chosen_positions(condition), axis ? axis_of(x, *axis) : 0);
}

Tensor extract(const Tensor& condition, const Tensor& x) {
  if (condition.size() != x.size())
    fail<ShapeError>("the condition {} must have as many elements as {}", type_of(condition), type_of(x));
  return x.size() == 0 ? flat(x) : prim::take_axis(flat(x), chosen_positions(condition), 0);
}

Tensor choose(const Tensor& x, const std::vector<Tensor>& choices, std::string_view mode) {
  require_integers(x);
  if (choices.empty()) fail<ValueError>("there must be something to choose from");
  std::vector<Tensor> all_tensors = all_converted(choices, promoted_dtype(choices));
  all_tensors.push_back(x);
  const Shape shape = common_shape(all_tensors);
  all_tensors.pop_back();
  const auto count = static_cast<std::int64_t>(choices.size());
  // What is 2^63 or more has a remainder too.
  const bool wraps_first = mode == "wrap" && x.dtype() == DType::uint64;
  Tensor which = broadcast(signed_index(wraps_first ? remainder(x, count) : x), shape);
  if (mode == "wrap") which = remainder(which, count);
  if (mode == "clip") which = minimum(maximum(which, 0), count - 1);
  if (mode == "raise") which = nonnegative_index(which);
  std::vector<Tensor> layers;
  for (const Tensor& choice : all_tensors) layers.push_back(with_axis(broadcast(choice, shape), 0));
  const Tensor stacked = layers.size() == 1 ? layers.front() : prim::concatenate(layers, 0);
  return drop_axis(prim::take_along_axis(stacked, with_axis(which, 0), 0), 0);
}

Tensor fill_diagonal(const Tensor& x, const Operand& value) {
  require_rank(x, 2, "what has a diagonal");
  const Tensor stored = stored_as(value, x);
  if (stored.size() != 1) fail<ShapeError>("one value is needed, got {}", type_of(stored));
  Tensor on_diagonal;
  const Tensor first = along(counting(x.shape()[0], x.device()), 0, x.rank());
  for (std::int64_t i = 1; i < x.rank(); ++i) {
    const Tensor same = equal(first, along(counting(x.shape()[static_cast<std::size_t>(i)], x.device()), i, x.rank()));
    on_diagonal = i == 1 ? same : bitwise_and(on_diagonal, same);
  }
  return where(on_diagonal, reshaped(stored, Shape{}), x);
}

Tensor diagonal_scatter(const Tensor& x, const Tensor& src, std::int64_t offset, std::int64_t axis1,
                        std::int64_t axis2) {
  const Tensor before = lento::diagonal(x, offset, axis1, axis2);
  if (src.shape() != before.shape())
    fail<ShapeError>("the source {} must have the shape {} of the diagonal", type_of(src), before.shape());
  const std::int64_t length = before.shape().back();
  if (src.size() == 0) return x;
  const Tensor step = counting(length, x.device());
  const Tensor matrices = lento::moveaxis(x, Ints{axis1, axis2}, Ints{0, 1});
  const Tensor written =
      prim::scatter_nd(matrices, move_axis(stored_as(src, x), src.rank() - 1, 0),
                       {add(step, offset < 0 ? -offset : 0), add(step, offset > 0 ? offset : 0)}, "set");
  return lento::moveaxis(written, Ints{0, 1}, Ints{axis1, axis2});
}

}  // namespace lento::composite

// Shapes, orders of axes and of elements (ops/manipulation.yaml). Joining, splitting, padding and windows are in
// joining.cpp and windows.cpp.
#include "base/fail.h"
#include "ir/shape_limit.h"
#include "ops/composite_helpers.h"
#include "ops/manipulation.calls.gen.h"

#include <algorithm>

namespace lento::composite {

namespace {

/// Positions in a result of `rank` axes, counted from the front and sorted.
Ints positions_in(const Ints& axes, std::int64_t rank) {
  Ints result;
  for (const std::int64_t axis : axes) {
    if (axis < -rank || axis >= rank) fail<IndexError>("axis {} is out of range for a result of {} axes", axis, rank);
    const std::int64_t position = axis < 0 ? axis + rank : axis;
    if (std::find(result.begin(), result.end(), position) != result.end())
      fail<ValueError>("axis {} is given twice in {}", axis, axes);
    result.push_back(position);
  }
  std::sort(result.begin(), result.end());
  return result;
}

Tensor flipped(const Tensor& x, const Ints& axes) {
  std::vector<Scalar> starts;
  Ints along_axes, sizes, steps;
  for (const std::int64_t axis : axes) {
    const std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
    if (extent < 2) continue;
    starts.emplace_back(extent - 1);
    along_axes.push_back(axis);
    sizes.push_back(extent);
    steps.push_back(-1);
  }
  return along_axes.empty() ? x : prim::strided_slice(x, starts, along_axes, sizes, steps);
}

Tensor rolled(const Tensor& x, std::int64_t shift, std::int64_t axis) {
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
  if (extent == 0) return x;
  const std::int64_t by = (shift % extent + extent) % extent;
  if (by == 0) return x;
  return prim::concatenate({sliced(x, axis, extent - by, by), sliced(x, axis, 0, extent - by)}, axis);
}

}  // namespace

Tensor reshape(const Tensor& x, const Ints& shape, std::optional<bool>) { return reshaped(x, shape); }

Tensor flatten(const Tensor& x, std::int64_t start_axis, std::int64_t end_axis) {
  if (x.rank() == 0) return reshaped(x, Shape{1});
  const auto first = static_cast<std::size_t>(axis_of(x, start_axis));
  const auto last = static_cast<std::size_t>(axis_of(x, end_axis));
  if (first > last) fail<ValueError>("the first axis {} is behind the last {} in {}", start_axis, end_axis, type_of(x));
  Shape shape(x.shape().begin(), x.shape().begin() + first);
  shape.push_back(element_count(x.shape().span().subspan(first, last - first + 1)));
  shape.append(x.shape().span().subspan(last + 1));
  return reshaped(x, shape);
}

Tensor unflatten(const Tensor& x, std::int64_t axis, const Ints& shape) {
  const auto at = static_cast<std::size_t>(axis_of(x, axis));
  const std::int64_t extent = x.shape()[at];
  Ints lengths = shape;
  Ints given;
  for (const std::int64_t length : lengths) {
    if (length != -1) given.push_back(length);
  }
  std::int64_t known = counted(given);
  if (const auto open = std::find(lengths.begin(), lengths.end(), -1); open != lengths.end() && known > 0) {
    *open = extent / known;
    known = counted(lengths);
  }
  if (known != extent) fail<ShapeError>("axis {} of {} cannot be split into {}", axis, type_of(x), shape);
  Shape result(x.shape().begin(), x.shape().begin() + at);
  result.append(lengths);
  result.append(x.shape().span().subspan(at + 1));
  return reshaped(x, result);
}

Tensor broadcast_to(const Tensor& x, const Ints& shape) {
  // The primitive reads -1 as "keep"; here it is no length.
  for (const std::int64_t length : shape) {
    if (length < 0) fail<ValueError>("negative length {} in shape {}", length, shape);
  }
  return broadcast(x, shape);
}

Tensor expand(const Tensor& x, const Ints& shape) { return prim::broadcast_to(x, shape); }

std::vector<Tensor> broadcast_arrays(const std::vector<Tensor>& arrays) {
  const Shape shape = common_shape(arrays);
  std::vector<Tensor> result;
  for (const Tensor& x : arrays) result.push_back(broadcast(x, shape));
  return result;
}

Tensor expand_dims(const Tensor& x, const Ints& axis) {
  Shape shape = x.shape();
  for (const std::int64_t position : positions_in(axis, x.rank() + static_cast<std::int64_t>(axis.size()))) {
    shape.insert(static_cast<std::size_t>(position), 1);
  }
  return reshaped(x, shape);
}

Tensor squeeze(const Tensor& x, const std::optional<Ints>& axis) {
  Ints axes;
  if (axis) {
    axes = axes_of(x, axis);
    for (const std::int64_t each : axes) {
      const std::int64_t extent = x.shape()[static_cast<std::size_t>(each)];
      if (extent != 1) fail<ValueError>("axis {} of {} has length {}, not 1", each, type_of(x), extent);
    }
  } else {
    for (std::int64_t i = 0; i < x.rank(); ++i) {
      if (x.shape()[static_cast<std::size_t>(i)] == 1) axes.push_back(i);
    }
  }
  return reshaped(x, without_axes(x.shape(), axes));
}

Tensor permute_dims(const Tensor& x, const Ints& axes) { return prim::permute_dims(x, axes); }

Tensor transpose(const Tensor& x, const std::optional<Ints>& axes) {
  if (axes) return prim::permute_dims(x, *axes);
  Ints reversed = all_axes(x.rank());
  std::reverse(reversed.begin(), reversed.end());
  return permuted(x, reversed);
}

Tensor swapaxes(const Tensor& x, std::int64_t axis1, std::int64_t axis2) {
  Ints axes = all_axes(x.rank());
  std::swap(axes[static_cast<std::size_t>(axis_of(x, axis1))], axes[static_cast<std::size_t>(axis_of(x, axis2))]);
  return permuted(x, axes);
}

Tensor moveaxis(const Tensor& x, const Ints& source, const Ints& destination) {
  if (source.size() != destination.size()) {
    fail<ValueError>("{} axes cannot be moved to {} positions: {} to {}", source.size(), destination.size(), source,
                     destination);
  }
  const Ints from = ordered_axes_of(x, source);
  const Ints to = ordered_axes_of(x, destination);
  Ints axes(x.shape().size(), -1);
  for (std::size_t i = 0; i < from.size(); ++i) axes[static_cast<std::size_t>(to[i])] = from[i];
  std::int64_t next = 0;
  for (std::int64_t& axis : axes) {
    if (axis >= 0) continue;
    while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
    axis = next++;
  }
  return permuted(x, axes);
}

Tensor rollaxis(const Tensor& x, std::int64_t axis, std::int64_t start) {
  const std::int64_t from = axis_of(x, axis);
  const std::int64_t rank = x.rank();
  if (start < -rank || start > rank)
    fail<IndexError>("start {} is out of range for {}: it must be from {} to {}", start, type_of(x), -rank, rank);
  std::int64_t to = start < 0 ? start + rank : start;
  if (from < to) --to;
  return move_axis(x, from, to);
}

Tensor flip(const Tensor& x, const std::optional<Ints>& axis) { return flipped(x, axes_of(x, axis)); }

Tensor fliplr(const Tensor& x) {
  require_rank(x, 2, "what has a left and a right");
  return flipped(x, Ints{1});
}

Tensor flipud(const Tensor& x) {
  require_rank(x, 1, "what has an upper and a lower side");
  return flipped(x, Ints{0});
}

Tensor rot90(const Tensor& x, std::int64_t k, const Ints& axes) {
  if (axes.size() != 2) fail<ValueError>("a plane has two axes, got {}", axes);
  const Ints plane = ordered_axes_of(x, axes);
  const std::int64_t turns = (k % 4 + 4) % 4;
  if (turns == 0) return x;
  if (turns == 2) return flipped(x, plane);
  if (turns == 1) return lento::swapaxes(flipped(x, Ints{plane[1]}), plane[0], plane[1]);
  return flipped(lento::swapaxes(x, plane[0], plane[1]), Ints{plane[1]});
}

Tensor roll(const Tensor& x, const Ints& shift, const std::optional<Ints>& axis) {
  if (!axis) {
    std::int64_t total = 0;
    for (const std::int64_t each : shift) total += each;
    return reshaped(rolled(flat(x), total, 0), x.shape());
  }
  const std::size_t count = std::max(shift.size(), axis->size());
  if ((shift.size() != count && shift.size() != 1) || (axis->size() != count && axis->size() != 1)) {
    fail<ValueError>("shift {} and axis {} must have one length", shift, *axis);
  }
  Tensor result = x;
  for (std::size_t i = 0; i < count; ++i) {
    result = rolled(result, shift[shift.size() == 1 ? 0 : i], axis_of(x, (*axis)[axis->size() == 1 ? 0 : i]));
  }
  return result;
}

Tensor tile(const Tensor& x, const Ints& repetitions) {
  const std::size_t rank = std::max(x.shape().size(), repetitions.size());
  Shape apart, spread, joined;  // each axis as (repeats, length), then repeated, then made one
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t back = rank - i;
    const std::int64_t length = back <= x.shape().size() ? x.shape()[x.shape().size() - back] : 1;
    const std::int64_t repeats = back <= repetitions.size() ? repetitions[repetitions.size() - back] : 1;
    if (repeats < 0) fail<ValueError>("repetitions cannot be negative, got {}", repetitions);
    apart.append(Ints{1, length});
    spread.append(Ints{repeats, length});
    joined.push_back(counted(Shape{repeats, length}));
  }
  return reshaped(broadcast(reshaped(x, apart), spread), joined);
}

Tensor repeat(const Tensor& x, const Operand& repeats, std::optional<std::int64_t> axis) {
  Tensor source = axis ? x : flat(x);
  const std::int64_t along_axis = axis ? axis_of(x, *axis) : 0;
  const auto at = static_cast<std::size_t>(along_axis);
  const std::int64_t extent = source.shape()[at];
  if (!repeats.is_tensor()) {
    if (!repeats.scalar().is_integer())
      fail<DTypeError>("repeats must be an integer or a tensor of integers, got {}", repeats.scalar());
    const auto count = repeats.scalar().to<std::int64_t>();
    if (count < 0) fail<ValueError>("repeats cannot be negative, got {}", count);
    const Tensor apart = with_axis(source, along_axis + 1);
    Shape spread = apart.shape();
    spread[at + 1] = count;
    Shape joined = source.shape();
    joined[at] = counted(Shape{extent, count});
    return reshaped(broadcast(apart, spread), joined);
  }
  const Tensor& counts = repeats.tensor();
  if (!is_integer(counts.dtype())) fail<DTypeError>("repeats must be integers, got {}", type_of(counts));
  if (counts.rank() > 1 || (counts.size() != 1 && counts.size() != extent)) {
    fail<ShapeError>("repeats {} do not fit axis {} of {}", type_of(counts), along_axis, type_of(source));
  }
  const Tensor ends = prim::scan_sum(converted(broadcast(flat(counts), Shape{extent}), DType::int64), 0);
  if (extent == 0) return source;
  // One read for the shape and for the checks: no number is negative, and their sum has not wrapped around. The second
  // sum is inexact, and saturates where it becomes an integer.
  const Tensor inexact = converted(broadcast(flat(counts), Shape{extent}), DType::float64);
  const Tensor facts = prim::concatenate(
      {sliced(ends, 0, extent - 1, 1), converted(prim::reduce_min(flat(counts), Ints{0}, true), DType::int64),
       converted(prim::reduce_sum(inexact, Ints{0}, true), DType::int64)},
      0);
  const std::vector<std::int64_t> known = facts.to_vector<std::int64_t>();
  if (known[2] > kMostElements) fail<ShapeError>("the repeats sum up to more elements than a tensor can have");
  if (known[1] < 0) fail<ValueError>("repeats cannot be negative, got {}", known[1]);
  // The k-th element of the result comes from the first position whose end lies behind k.
  const Tensor positions = prim::search_sorted(ends, counting(known[0], x.device()), true);
  return prim::take_axis(source, positions, along_axis);
}

Tensor atleast_2d(const Tensor& x) {
  if (x.rank() >= 2) return x;
  return reshaped(x, Shape{1, x.size()});
}

Tensor atleast_3d(const Tensor& x) {
  if (x.rank() >= 3) return x;
  if (x.rank() == 2) return with_axis(x, 2);
  return reshaped(x, Shape{1, x.size(), 1});
}

Tensor narrow(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t length) {
  const std::int64_t along_axis = axis_of(x, axis);
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(along_axis)];
  const std::int64_t first = start < 0 ? start + extent : start;
  if (first < 0 || length < 0 || first > extent - length) {
    fail<IndexError>("{} elements from {} on are not in axis {} of {}, which has length {}", length, start, axis,
                     type_of(x), extent);
  }
  return sliced(x, along_axis, first, length);
}

Tensor select(const Tensor& x, std::int64_t axis, std::int64_t index) {
  const std::int64_t along_axis = axis_of(x, axis);
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(along_axis)];
  if (index < -extent || index >= extent) {
    fail<IndexError>("index {} is out of range for axis {} of {}, which has length {}", index, axis, type_of(x),
                     extent);
  }
  return picked(x, along_axis, index < 0 ? index + extent : index);
}

Tensor slice(const Tensor& x, std::int64_t axis, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
             std::int64_t step) {
  return x.slice(axis_of(x, axis), start, stop, step);
}

Tensor resize(const Tensor& x, const Ints& shape) {
  for (const std::int64_t length : shape) {
    if (length < 0) fail<ValueError>("negative length {} in shape {}", length, shape);
  }
  const std::int64_t wanted = counted(shape);
  if (x.size() == 0) return number_tensor(0, x.dtype(), x.device(), shape);
  if (wanted <= x.size()) return reshaped(sliced(flat(x), 0, 0, wanted), shape);
  return reshaped(prim::take_axis(flat(x), remainder(counting(wanted, x.device()), x.size()), 0), shape);
}

Tensor sum_to_size(const Tensor& x, const Ints& shape) {
  const std::size_t rank = x.shape().size();
  if (shape.size() > rank) fail<ShapeError>("{} cannot be summed to shape {}, which has more axes", type_of(x), shape);
  const std::size_t leading = rank - shape.size();
  Ints axes;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t wanted = i < leading ? 1 : shape[i - leading];
    if (wanted == x.shape()[i] && i >= leading) continue;
    if (wanted != 1)
      fail<ShapeError>("{} cannot be summed to shape {}: no tensor of that shape broadcasts to it", type_of(x), shape);
    axes.push_back(static_cast<std::int64_t>(i));
  }
  return reshaped(axes.empty() ? x : sum_over(x, axes), shape);
}

}  // namespace lento::composite

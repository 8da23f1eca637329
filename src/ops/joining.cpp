// Joining tensors and taking them apart (ops/manipulation.yaml).
#include "base/fail.h"
#include "ops/composite_helpers.h"
#include "ops/joining.calls.gen.h"
#include "ops/record_limit.h"

#include <algorithm>

namespace lento::composite {

namespace {

/// The tensors in one dtype, each after `change`.
template <class Change>
std::vector<Tensor> prepared(const std::vector<Tensor>& arrays, Change change) {
  std::vector<Tensor> result;
  for (const Tensor& x : all_converted(arrays, promoted_dtype(arrays))) result.push_back(change(x));
  return result;
}

Tensor joined(const std::vector<Tensor>& arrays, std::int64_t axis) {
  return arrays.size() == 1 ? arrays.front() : prim::concatenate(arrays, axis);
}

/// The parts between cuts, which are positions from 0 to the length of the axis in any order.
std::vector<Tensor> cut(const Tensor& x, std::int64_t axis, const Ints& cuts) {
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const std::int64_t stop = i < cuts.size() ? cuts[i] : extent;
    parts.push_back(sliced(x, axis, start, std::max<std::int64_t>(stop - start, 0)));
    start = stop;
  }
  return parts;
}

/// Parts of the given lengths.
std::vector<Tensor> cut_by_sizes(const Tensor& x, std::int64_t axis, const Ints& sizes) {
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    parts.push_back(sliced(x, axis, start, size));
    start += size;
  }
  return parts;
}

void require_sections(std::int64_t sections) {
  if (sections < 1) fail<ValueError>("there must be at least one part, got {}", sections);
}

}  // namespace

Tensor concat(const std::vector<Tensor>& arrays, std::optional<std::int64_t> axis) {
  if (!axis) return joined(prepared(arrays, [](const Tensor& x) { return flat(x); }), 0);
  const std::vector<Tensor> tensors = all_converted(arrays, promoted_dtype(arrays));
  if (tensors.size() > 1) return prim::concatenate(tensors, *axis);
  if (tensors.front().rank() == 0) fail<ShapeError>("zero-dimensional tensors cannot be concatenated");
  axis_of(tensors.front(), *axis);
  return tensors.front();
}

Tensor stack(const std::vector<Tensor>& arrays, std::int64_t axis) {
  if (arrays.empty()) fail<ValueError>("at least one tensor is needed");
  for (const Tensor& x : arrays) {
    if (x.shape() != arrays.front().shape())
      fail<ShapeError>("all tensors must have one shape, got {}", types_of(arrays));
  }
  const std::int64_t rank = arrays.front().rank() + 1;
  if (axis < -rank || axis >= rank) fail<IndexError>("axis {} is out of range for a result of {} axes", axis, rank);
  const std::int64_t at = axis < 0 ? axis + rank : axis;
  return joined(prepared(arrays, [&](const Tensor& x) { return with_axis(x, at); }), at);
}

Tensor hstack(const std::vector<Tensor>& arrays) {
  const std::vector<Tensor> tensors = prepared(arrays, [](const Tensor& x) { return x.rank() == 0 ? flat(x) : x; });
  return joined(tensors, tensors.front().rank() == 1 ? 0 : 1);
}

Tensor vstack(const std::vector<Tensor>& arrays) {
  return joined(prepared(arrays, [](const Tensor& x) { return lento::atleast_2d(x); }), 0);
}

Tensor dstack(const std::vector<Tensor>& arrays) {
  return joined(prepared(arrays, [](const Tensor& x) { return lento::atleast_3d(x); }), 2);
}

Tensor column_stack(const std::vector<Tensor>& arrays) {
  return joined(prepared(arrays, [](const Tensor& x) { return x.rank() < 2 ? reshaped(x, Shape{x.size(), 1}) : x; }),
                1);
}

Tensor append(const Tensor& x, const Tensor& values, std::optional<std::int64_t> axis) {
  return lento::concat({x, values}, axis);
}

Tensor block_diag(const std::vector<Tensor>& arrays) {
  const std::vector<Tensor> blocks = prepared(arrays, [](const Tensor& x) {
    if (x.rank() > 2) fail<ShapeError>("a block has at most two axes, got {}", type_of(x));
    return lento::atleast_2d(x);
  });
  std::int64_t columns = 0;
  for (const Tensor& block : blocks) columns += block.shape()[1];
  std::vector<Tensor> rows;
  std::int64_t before = 0;
  for (const Tensor& block : blocks) {
    const std::int64_t width = block.shape()[1];
    rows.push_back(
        prim::pad_constant(block, zero_of(block.dtype()), Ints{0, before}, Ints{0, columns - before - width}));
    before += width;
  }
  return joined(rows, 0);
}

std::vector<Tensor> unstack(const Tensor& x, std::int64_t axis) {
  const std::int64_t at = axis_of(x, axis);
  require_recordable(x.shape()[static_cast<std::size_t>(at)], "parts");
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < x.shape()[static_cast<std::size_t>(at)]; ++i) parts.push_back(picked(x, at, i));
  return parts;
}

std::vector<Tensor> split(const Tensor& x, std::int64_t sections, std::int64_t axis) {
  require_sections(sections);
  const std::int64_t at = axis_of(x, axis);
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(at)];
  if (extent % sections != 0)
    fail<ValueError>("axis {} of {} cannot be divided into {} equal parts", axis, type_of(x), sections);
  require_recordable(sections, "parts");
  return cut_by_sizes(x, at, Ints(static_cast<std::size_t>(sections), extent / sections));
}

std::vector<Tensor> array_split(const Tensor& x, std::int64_t sections, std::int64_t axis) {
  require_sections(sections);
  const std::int64_t at = axis_of(x, axis);
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(at)];
  require_recordable(sections, "parts");
  Ints sizes;
  for (std::int64_t i = 0; i < sections; ++i) sizes.push_back(extent / sections + (i < extent % sections ? 1 : 0));
  return cut_by_sizes(x, at, sizes);
}

std::vector<Tensor> split_at(const Tensor& x, const Ints& indices, std::int64_t axis) {
  const std::int64_t at = axis_of(x, axis);
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(at)];
  Ints cuts;
  for (const std::int64_t index : indices)
    cuts.push_back(std::clamp<std::int64_t>(index < 0 ? index + extent : index, 0, extent));
  return cut(x, at, cuts);
}

std::vector<Tensor> split_with_sizes(const Tensor& x, const Ints& sizes, std::int64_t axis) {
  const std::int64_t at = axis_of(x, axis);
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0) fail<ValueError>("a part cannot have a negative length, got {}", sizes);
    total += size;
  }
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(at)];
  if (total != extent)
    fail<ValueError>("the lengths {} sum up to {}, but axis {} of {} has length {}", sizes, total, axis, type_of(x),
                     extent);
  return cut_by_sizes(x, at, sizes);
}

std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, std::int64_t axis) {
  require_sections(chunks);
  const std::int64_t at = axis_of(x, axis);
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(at)];
  require_recordable(extent == 0 ? chunks : std::min(extent, chunks), "parts");
  const std::int64_t size = std::max<std::int64_t>(extent / chunks + (extent % chunks == 0 ? 0 : 1), 1);
  Ints sizes;
  for (std::int64_t start = 0; start < extent; start += size) sizes.push_back(std::min(size, extent - start));
  if (extent == 0) sizes = Ints(static_cast<std::size_t>(chunks), 0);
  return cut_by_sizes(x, at, sizes);
}

}  // namespace lento::composite

// x[{...}] with NumPy's rules, for reading and for assignment.
//
// An index is first resolved into one Part for each axis it talks about. Integers and slices make a strided region of
// x; what is left of the work is then on that region reshaped (integers dropped, new axes added), called `base`:
// reading gathers from it by the index tensors, assigning scatters into it and puts the region back. Starts of slices
// and integers are arguments of the plan (clause T4), so that x[i] and x[i:i+8] with another i are the same plan.
#include <lento/indexing.h>

#include "base/fail.h"
#include "base/source.h"
#include "ops/basic_index.h"
#include "ops/check_index.h"
#include "ops/composite_helpers.h"
#include "ops/evaluated_count.h"
#include "ops/slice_range.h"
#include "ops/subscript.calls.gen.h"

#include <algorithm>
#include <array>
#include <optional>

namespace lento {

Index::Index(const Tensor& positions, std::source_location site)
    : kind_(Kind::tensor), tensor_(std::make_shared<const Tensor>(positions)), site_(site) {}

Index::Index(const Subscript& positions, std::source_location site) : Index(positions.get(site), site) {}

Index::Index(HostTag, const Ints& positions, const std::source_location& site)
    : Index(lento::tensor(positions, std::nullopt, {}, site), site) {
  from_host_ = true;
}

Index::Index(const std::vector<bool>& mask, std::source_location site)
    : Index(lento::tensor(mask, std::nullopt, {}, site), site) {
  from_host_ = true;
}

namespace composite {

namespace {

/// What an index says about one axis of x, or about an axis that is only in the result.
struct Part {
  // A separator is an ellipsis that stands for no axis: it still stands between index tensors.
  enum class Kind { position, range, new_axis, tensor, separator } kind;
  std::int64_t start = 0;  // position and range
  std::int64_t size = 1;   // range
  std::int64_t step = 1;   // range
  Tensor indices = {};     // tensor: integers
  // tensor: how many axes of x it says something about. A mask selects among all elements of those it covers, which are
  // one axis of the base. A bool or a 0-d mask covers none: an axis of length 1 is put in for it.
  std::int64_t covers = 1;

  bool from_x() const { return kind != Kind::new_axis && covers > 0; }
  /// Integers beside index tensors count as index tensors where NumPy asks whether those stand side by side.
  bool advanced() const { return kind == Kind::tensor || kind == Kind::position; }
};

struct Resolved {
  std::vector<Part> parts;
  bool has_tensors = false;
};

/// The index with what is of the host put on this device, if it is not there; else nothing.
std::vector<Index> moved_to(Device device, std::span<const Index> index) {
  const auto elsewhere = [&](const Index& item) { return item.from_host() && item.tensor()->device() != device; };
  if (std::none_of(index.begin(), index.end(), elsewhere)) return {};
  std::vector<Index> moved(index.begin(), index.end());
  for (Index& item : moved) {
    if (elsewhere(item)) item = Index(lento::to_device(*item.tensor(), device, item.site()), item.site());
  }
  return moved;
}

/// Axes of x that one item uses up.
std::int64_t axes_used(const Index& index) {
  if (const Tensor* t = index.tensor()) return is_bool(t->dtype()) ? t->rank() : 1;
  return index.position() != nullptr || index.slice() != nullptr ? 1 : 0;
}

Part range_part(const Slice& slice, std::int64_t extent) {
  const std::int64_t step = slice.step.value_or(1);
  if (step == 0) fail<ValueError>("a slice step cannot be zero");
  const SliceRange range =
      slice_range(slice.start ? &*slice.start : nullptr, slice.stop ? &*slice.stop : nullptr, step, extent);
  Part part{Part::Kind::range};
  part.start = range.start;
  part.size = range.size;
  part.step = range.step;
  return part;
}

Part position_part(std::int64_t position, std::int64_t axis, const Tensor& x) {
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
  if (position < -extent || position >= extent) {
    fail<IndexError>("index {} is out of range for axis {} of {}, which has length {}", position, axis, type_of(x),
                     extent);
  }
  Part part{Part::Kind::position};
  part.start = position < 0 ? position + extent : position;
  return part;
}

Part tensor_part(const Tensor& indices, std::int64_t covers) {
  Part part{Part::Kind::tensor};
  part.indices = indices;
  part.covers = covers;
  return part;
}

/// true or false as an index: all or nothing along a new axis of length 1.
Part bool_part(std::int64_t count, Device device) {
  return tensor_part(number_tensor(0, DType::int64, device, Shape{count}), 0);
}

/// An axis of a mask may also have no elements, and then nothing is selected; the Array API's own suite asks for that.
bool fits(std::int64_t mask_extent, std::int64_t extent) { return mask_extent == extent || mask_extent == 0; }

void check_mask(const Tensor& mask, std::int64_t axis, const Tensor& x) {
  for (std::int64_t i = 0; i < mask.rank(); ++i) {
    const auto at = static_cast<std::size_t>(axis + i);
    if (!fits(mask.shape()[static_cast<std::size_t>(i)], x.shape()[at])) {
      fail<IndexError>("the mask {} does not match {}: axis {} of the tensor has length {}, that of the mask {}",
                       type_of(mask), type_of(x), axis + i, x.shape()[at], mask.shape()[static_cast<std::size_t>(i)]);
    }
  }
}

/// NumPy has one index tensor for each axis of a mask. They stand side by side, so that one for all of them is the
/// same.
Part mask_part(const Tensor& mask, std::int64_t axis, const Tensor& x) {
  check_mask(mask, axis, x);
  if (mask.rank() == 0) return bool_part(evaluated_count(mask), x.device());
  return tensor_part(lento::flatnonzero(mask), mask.rank());
}

/// How many axes of x the index uses up; the others are for the ellipsis or follow at the end.
std::int64_t checked_axes(const Tensor& x, std::span<const Index> index) {
  std::int64_t used = 0;
  std::int64_t ellipses = 0;
  for (const Index& item : index) {
    used += axes_used(item);
    ellipses += item.is_ellipsis() ? 1 : 0;
    if (const Tensor* t = item.tensor(); t != nullptr && !is_integer(t->dtype()) && !is_bool(t->dtype())) {
      fail<IndexError>("an index tensor must be integer or bool, got {}", type_of(*t));
    }
  }
  if (ellipses > 1) fail<IndexError>("an index can have only one ellipsis");
  if (used > x.rank())
    fail<IndexError>("too many indices for {}: it has {} axes, {} are indexed", type_of(x), x.rank(), used);
  return used;
}

Resolved resolve(const Tensor& x, std::span<const Index> index) {
  const std::int64_t used = checked_axes(x, index);
  Resolved result;
  std::int64_t axis = 0;
  const auto add_whole_axes = [&](std::int64_t count) {
    for (; count > 0; --count) {
      Part part{Part::Kind::range};
      part.size = x.shape()[static_cast<std::size_t>(axis++)];
      result.parts.push_back(part);
    }
  };
  for (const Index& item : index) {
    if (item.is_ellipsis()) {
      if (x.rank() == used) result.parts.push_back({Part::Kind::separator});
      add_whole_axes(x.rank() - used);
    } else if (item.is_new_axis()) {
      result.parts.push_back({Part::Kind::new_axis});
    } else if (const std::int64_t* position = item.position()) {
      result.parts.push_back(position_part(*position, axis++, x));
    } else if (const Slice* slice = item.slice()) {
      result.parts.push_back(range_part(*slice, x.shape()[static_cast<std::size_t>(axis++)]));
    } else if (const bool* selected = item.truth()) {
      result.parts.push_back(bool_part(*selected ? 1 : 0, x.device()));
      result.has_tensors = true;
    } else {
      const Tensor& indices = *item.tensor();
      result.has_tensors = true;
      if (is_bool(indices.dtype())) {
        result.parts.push_back(mask_part(indices, axis, x));
      } else {
        result.parts.push_back(tensor_part(indices, 1));
      }
      axis += result.parts.back().covers;
    }
  }
  add_whole_axes(x.rank() - axis);
  return result;
}

/// The strided region of x that integers and slices select.
struct Region {
  std::vector<Scalar> starts;
  Ints axes, sizes, steps;
  Shape shape;  // of the region: the rank of x, length 1 where there is an integer
  Shape base;   // the same without the integers' axes, with new ones, and with those that a mask covers as one

  bool whole() const { return axes.empty(); }
};

Region region_of(const Tensor& x, const std::vector<Part>& parts) {
  Region region;
  std::int64_t axis = 0;
  for (const Part& part : parts) {
    if (part.kind == Part::Kind::separator) continue;
    if (!part.from_x()) {
      region.base.push_back(1);
      continue;
    }
    const auto lengths =
        x.shape().span().subspan(static_cast<std::size_t>(axis), static_cast<std::size_t>(part.covers));
    if (part.kind == Part::Kind::tensor) {
      region.shape.append(lengths);
      region.base.push_back(element_count(lengths));
      axis += part.covers;
      continue;
    }
    // Whether an axis is taken whole must not depend on where a slice of this size starts.
    if (!(part.size == lengths.front() && part.step == 1)) {
      region.axes.push_back(axis);
      region.starts.emplace_back(part.size == 0 ? 0 : part.start);
      region.sizes.push_back(part.size);
      region.steps.push_back(part.step);
    }
    region.shape.push_back(part.size);
    if (part.kind != Part::Kind::position) region.base.push_back(part.size);
    ++axis;
  }
  return region;
}

Tensor read_region(const Tensor& x, const Region& region) {
  return region.whole() ? x : prim::strided_slice(x, region.starts, region.axes, region.sizes, region.steps);
}

/// How index tensors act on the base.
struct Advanced {
  std::vector<Tensor> indices;
  Ints front;      // permutation of the base that puts the indexed axes first
  Ints place;      // permutation that puts the gathered axes where NumPy has them
  Shape gathered;  // shape after gathering: the indices' common shape, then the other axes
};

Advanced plan_advanced(const Shape& base, const std::vector<Part>& parts) {
  Advanced plan;
  Ints others;
  std::int64_t axis = 0;    // of the base
  std::int64_t before = 0;  // axes of the result in front of the first index
  bool seen = false, gap = false, together = true;
  for (const Part& part : parts) {
    if (part.kind == Part::Kind::separator) {
      gap = seen;
      continue;
    }
    if (part.advanced()) {
      if (seen && gap) together = false;
      seen = true;
    } else {
      gap = seen;
      before += seen ? 0 : 1;
    }
    if (part.kind == Part::Kind::position) continue;
    if (part.kind == Part::Kind::tensor) {
      plan.indices.push_back(part.indices);
      plan.front.push_back(axis);
    } else {
      others.push_back(axis);
    }
    ++axis;
  }
  plan.front.append(others);
  plan.gathered = common_shape(plan.indices);
  const auto rank = static_cast<std::int64_t>(plan.gathered.size());
  for (const std::int64_t other : others) plan.gathered.push_back(base[static_cast<std::size_t>(other)]);
  // Side by side, the indices' axes stand where the first of them stood; otherwise they come first.
  if (!together) before = 0;
  for (std::int64_t i = 0; i < before; ++i) plan.place.push_back(rank + i);
  for (std::int64_t i = 0; i < rank; ++i) plan.place.push_back(i);
  for (std::int64_t i = before; i < static_cast<std::int64_t>(others.size()); ++i) plan.place.push_back(rank + i);
  return plan;
}

Ints inverse(const Ints& permutation) {
  Ints result(permutation.size(), 0);
  for (std::size_t i = 0; i < permutation.size(); ++i)
    result[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  return result;
}

/// The value broadcast to the shape of the selected part; leading axes of length 1 that are too many are dropped.
Tensor fitted(const Operand& value, const Tensor& x, const Shape& shape) {
  Tensor fitted = stored_as(value, x);
  Shape given = fitted.shape();
  while (given.size() > shape.size() && given.front() == 1) given.erase(0);
  bool good = given.size() <= shape.size();
  for (std::size_t i = 0; good && i < given.size(); ++i) {
    const std::int64_t wanted = shape[shape.size() - given.size() + i];
    good = given[i] == wanted || given[i] == 1;
  }
  if (!good)
    fail<ShapeError>("a value of shape {} cannot be broadcast to the selected part of shape {}", fitted.shape(), shape);
  return broadcast(reshaped(fitted, given), shape);
}

/// x[mask] = value without evaluating the mask: a `where` for one value, else a scatter whose number of positions is
/// the value's.
Tensor assign_by_mask(const Tensor& x, const Tensor& mask, const Operand& value) {
  for (std::size_t i = 0; i < mask.shape().size(); ++i) {
    if (i >= x.shape().size() || !fits(mask.shape()[i], x.shape()[i])) {
      fail<IndexError>("the mask {} does not match {}", type_of(mask), type_of(x));
    }
  }
  const auto covered = static_cast<std::size_t>(mask.rank());
  const Shape rest(x.shape().begin() + covered, x.shape().end());
  Tensor stored = stored_as(value, x);
  if (mask.size() == 0) {
    Shape nothing = rest;
    nothing.insert(0, 0);
    fitted(stored, x, nothing);  // the error, if the value does not fit
    return x;
  }
  const auto rank = static_cast<std::size_t>(stored.rank());
  if (rank <= rest.size() || (rank == rest.size() + 1 && stored.shape().front() == 1)) {
    if (rank > rest.size()) stored = drop_axis(stored, 0);
    Shape spread = mask.shape();
    for (std::size_t i = 0; i < rest.size(); ++i) spread.push_back(1);
    fitted(stored, x, rest);  // the error, if the value does not fit
    return where(reshaped(mask, spread), stored, x);
  }
  if (rank > rest.size() + 1) {
    fail<ShapeError>("a value of shape {} cannot be broadcast to a part selected by a mask, which has {} axes",
                     stored.shape(), rest.size() + 1);
  }
  const std::int64_t count = stored.shape().front();
  if (count > mask.size()) {
    fail<ShapeError>("{} values are too many for a mask of {} elements", count, mask.size());
  }
  Shape selected = rest;
  selected.insert(0, count);
  Shape lined_up = rest;
  lined_up.insert(0, mask.size());
  const Tensor positions = prim::flat_nonzero(mask, count);
  const Tensor lines = prim::scatter_nd(reshaped(x, lined_up), fitted(stored, x, selected), {positions}, "set");
  return reshaped(lines, x.shape());
}

/// The items of an index without tensors and truth values; false when there are others, or too many.
bool as_basic(std::span<const Index> index, std::array<BasicItem, kMostBasicItems>& items) {
  if (index.size() > items.size()) return false;
  for (std::size_t i = 0; i < index.size(); ++i) {
    BasicItem& item = items[i];
    if (const Slice* slice = index[i].slice()) {
      item = {BasicItem::Kind::slice,   slice->start.has_value(), slice->stop.has_value(),
              slice->start.value_or(0), slice->stop.value_or(0),  slice->step.value_or(1)};
    } else if (const std::int64_t* position = index[i].position()) {
      item = {BasicItem::Kind::position, true, false, *position, 0, 1};
    } else if (index[i].is_ellipsis()) {
      item = {BasicItem::Kind::ellipsis, false, false, 0, 0, 1};
    } else if (index[i].is_new_axis()) {
      item = {BasicItem::Kind::new_axis, false, false, 0, 0, 1};
    } else {
      return false;
    }
  }
  return true;
}

/// The mask if the index is one mask and otherwise only whole axes, else null.
const Tensor* lone_mask(std::span<const Index> index) {
  const Tensor* mask = nullptr;
  for (const Index& item : index) {
    if (item.is_ellipsis() && mask != nullptr) continue;
    const Tensor* t = item.tensor();
    if (t == nullptr || mask != nullptr || !is_bool(t->dtype())) return nullptr;
    mask = t;
  }
  return mask;
}

}  // namespace

void check_index(const Tensor& x, std::span<const Index> index, const std::source_location& site) {
  const CallScope scope("subscript", site);
  const std::int64_t used = checked_axes(x, index);
  std::int64_t axis = 0;
  for (const Index& item : index) {
    if (item.is_ellipsis()) {
      axis += x.rank() - used;
      continue;
    }
    if (const std::int64_t* position = item.position()) {
      position_part(*position, axis, x);
    } else if (const Slice* slice = item.slice()) {
      range_part(*slice, x.shape()[static_cast<std::size_t>(axis)]);
    } else if (const Tensor* mask = item.tensor(); mask != nullptr && is_bool(mask->dtype())) {
      check_mask(*mask, axis, x);
    }
    axis += axes_used(item);
  }
}

}  // namespace composite

Tensor get_item(const Tensor& x, std::span<const Index> index, std::source_location site) {
  using namespace composite;
  const CallScope scope("getitem", site);
  std::array<BasicItem, kMostBasicItems> items;
  if (as_basic(index, items)) {
    if (Tensor part = get_basic(x, std::span(items).first(index.size())); part.defined()) return part;
  }
  if (const std::vector<Index> moved = moved_to(x.device(), index); !moved.empty()) return get_item(x, moved, site);
  const Resolved resolved = resolve(x, index);
  const Region region = region_of(x, resolved.parts);
  Tensor base = composite::reshaped(read_region(x, region), region.base);
  if (!resolved.has_tensors) return base;
  const Advanced plan = plan_advanced(region.base, resolved.parts);
  Tensor gathered;
  if (plan.indices.size() == 1) {
    // One index tensor: its axes replace the indexed one, which costs no permutation of the base.
    const std::int64_t axis = plan.front[0];
    gathered = prim::take_axis(base, plan.indices[0], axis);
    const std::int64_t rank = plan.indices[0].rank();
    Ints to_front;
    for (std::int64_t i = 0; i < rank; ++i) to_front.push_back(axis + i);
    for (std::int64_t i = 0; i < gathered.rank(); ++i) {
      if (i < axis || i >= axis + rank) to_front.push_back(i);
    }
    Ints places;
    for (const std::int64_t from : plan.place) places.push_back(to_front[static_cast<std::size_t>(from)]);
    return permuted(gathered, places);
  }
  return permuted(prim::gather_nd(permuted(base, plan.front), plan.indices), plan.place);
}

Tensor set_item(const Tensor& x, std::span<const Index> index, const Operand& value, std::source_location site) {
  using namespace composite;
  const CallScope scope("setitem", site);
  std::array<BasicItem, kMostBasicItems> items;
  if (as_basic(index, items)) {
    if (Tensor updated = set_basic(x, std::span(items).first(index.size()), value); updated.defined()) return updated;
  }
  if (const std::vector<Index> moved = moved_to(x.device(), index); !moved.empty()) {
    return set_item(x, moved, value, site);
  }
  if (const Tensor* mask = lone_mask(index); mask != nullptr) return assign_by_mask(x, *mask, value);
  const Resolved resolved = resolve(x, index);
  const Region region = region_of(x, resolved.parts);
  Tensor updated;
  if (resolved.has_tensors) {
    const Advanced plan = plan_advanced(region.base, resolved.parts);
    Shape selected;
    for (const std::int64_t from : plan.place) selected.push_back(plan.gathered[static_cast<std::size_t>(from)]);
    const Tensor values = permuted(fitted(value, x, selected), inverse(plan.place));
    const Tensor base = permuted(composite::reshaped(read_region(x, region), region.base), plan.front);
    updated = permuted(prim::scatter_nd(base, values, plan.indices, "set"), inverse(plan.front));
  } else {
    updated = fitted(value, x, region.base);
  }
  updated = composite::reshaped(updated, region.shape);
  return region.whole() ? updated : prim::strided_update(x, updated, region.starts, region.axes, region.steps);
}

}  // namespace lento

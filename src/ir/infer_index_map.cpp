// Shapes and dtypes of the index maps.
#include "base/fail.h"
#include "ir/attrs_index_map.gen.h"
#include "ir/infer_common.h"
#include "ir/infer_index_map.gen.h"
#include "ir/reach.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace lento {

namespace {

/// Whether `size` positions that are `step` apart fit into `extent` for some start.
bool fits(std::int64_t size, std::int64_t step, std::int64_t extent) {
  if (size == 0) return true;
  // In unsigned arithmetic the smallest step has a magnitude too.
  const auto distance = step < 0 ? 0 - static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
  return extent > 0 && static_cast<std::uint64_t>(size - 1) <= static_cast<std::uint64_t>(extent - 1) / distance;
}

void require_steps(std::span<const std::int64_t> axes, std::span<const std::int64_t> steps) {
  if (steps.size() != axes.size()) {
    fail<ValueError>("{} axes need {} steps, got {}", axes.size(), axes.size(), steps.size());
  }
  for (const std::int64_t step : steps) {
    if (step == 0) fail<ValueError>("a slice step cannot be zero");
  }
}

}  // namespace

Meta infer_reshape(const Meta& x, ReshapeAttrs& attrs) {
  const std::int64_t count = element_count(x.shape);
  std::int64_t known = 1;
  std::int64_t* computed = nullptr;
  for (std::int64_t& extent : attrs.shape) {
    if (extent == -1) {
      if (computed != nullptr) fail<ValueError>("shape {} has more than one -1", attrs.shape);
      computed = &extent;
    } else if (extent < 0) {
      fail<ValueError>("negative length {} in shape {}", extent, attrs.shape);
    } else if (__builtin_mul_overflow(known, extent, &known)) {
      fail<ShapeError>("{} elements do not fit shape {}", count, attrs.shape);
    }
  }
  if (computed != nullptr) {
    if (known == 0) fail<ValueError>("the -1 in shape {} cannot be computed beside a length of 0", attrs.shape);
    if (count % known != 0) {
      fail<ShapeError>("the {} elements of {} cannot be divided among shape {}", count, type_text(x), attrs.shape);
    }
    *computed = count / known;
  } else if (known != count) {
    fail<ShapeError>("{} has {} elements, shape {} has {}", type_text(x), count, attrs.shape, known);
  }
  return {x.dtype, attrs.shape};
}

Meta infer_permute_dims(const Meta& x, PermuteDimsAttrs& attrs) {
  if (attrs.axes.size() != x.shape.size()) {
    fail<ValueError>("axes {} must name each of the {} axes of {} once", attrs.axes, x.shape.size(), type_text(x));
  }
  attrs.axes = normalized_axes(attrs.axes, x);
  Meta result{x.dtype, {}};
  for (const std::int64_t axis : attrs.axes) result.shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
  return result;
}

Meta infer_broadcast_to(const Meta& x, BroadcastToAttrs& attrs) {
  if (attrs.shape.size() < x.shape.size()) {
    fail<ShapeError>("{} has more axes than shape {}", type_text(x), attrs.shape);
  }
  const std::size_t leading = attrs.shape.size() - x.shape.size();
  for (std::size_t axis = 0; axis < attrs.shape.size(); ++axis) {
    std::int64_t& extent = attrs.shape[axis];
    if (extent == -1 && axis >= leading) extent = x.shape[axis - leading];
    if (extent < 0) fail<ValueError>("negative length {} in shape {}", extent, attrs.shape);
    if (axis >= leading && x.shape[axis - leading] != 1 && x.shape[axis - leading] != extent) {
      fail<ShapeError>("{} cannot be broadcast to {}: axis {} has length {}", type_text(x), attrs.shape, axis - leading,
                       x.shape[axis - leading]);
    }
  }
  return {x.dtype, attrs.shape};
}

Meta infer_as_strided(const Meta& x, AsStridedAttrs& attrs) {
  if (x.shape.empty()) fail<ShapeError>("a zero-dimensional tensor has no axis to be read by strides");
  if (attrs.sizes.size() != attrs.strides.size()) {
    fail<ValueError>("sizes {} and strides {} must have one length", attrs.sizes, attrs.strides);
  }
  Meta result{x.dtype, Shape(x.shape.begin(), x.shape.end() - 1)};
  for (const std::int64_t size : attrs.sizes) {
    if (size < 0) fail<ValueError>("negative length {} in sizes {}", size, attrs.sizes);
    result.shape.push_back(size);
  }
  const std::optional<Reach> reach = reach_of(attrs.sizes, attrs.strides);
  if (!reach || !reach->fits(x.shape.back())) {
    fail<IndexError>("sizes {} with strides {} do not fit the {} elements along the last axis of {}", attrs.sizes,
                     attrs.strides, x.shape.back(), type_text(x));
  }
  return result;
}

Meta infer_strided_slice(const Meta& x, StridedSliceAttrs& attrs) {
  attrs.axes = normalized_axes(attrs.axes, x);
  require_steps(attrs.axes, attrs.steps);
  if (attrs.sizes.size() != attrs.axes.size()) {
    fail<ValueError>("{} axes need {} sizes, got {}", attrs.axes.size(), attrs.axes.size(), attrs.sizes.size());
  }
  Meta result = x;
  for (std::size_t j = 0; j < attrs.axes.size(); ++j) {
    std::int64_t& extent = result.shape[static_cast<std::size_t>(attrs.axes[j])];
    if (attrs.sizes[j] < 0) fail<ValueError>("negative slice size {}", attrs.sizes[j]);
    if (!fits(attrs.sizes[j], attrs.steps[j], extent)) {
      fail<IndexError>("a slice of {} elements with step {} does not fit axis {} of {}", attrs.sizes[j], attrs.steps[j],
                       attrs.axes[j], type_text(x));
    }
    extent = attrs.sizes[j];
  }
  return result;
}

Meta infer_strided_update(const Meta& x, const Meta& value, StridedUpdateAttrs& attrs) {
  require_same_dtype(x, "x", value, "value");
  attrs.axes = normalized_axes(attrs.axes, x);
  require_steps(attrs.axes, attrs.steps);
  if (value.shape.size() != x.shape.size()) {
    fail<ShapeError>("the value {} must have as many axes as {}", type_text(value), type_text(x));
  }
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    const auto* sliced = std::find(attrs.axes.begin(), attrs.axes.end(), static_cast<std::int64_t>(axis));
    if (sliced == attrs.axes.end() && value.shape[axis] != x.shape[axis]) {
      fail<ShapeError>("the value {} does not match {} along axis {}, which is not sliced", type_text(value),
                       type_text(x), axis);
    }
    if (sliced == attrs.axes.end()) continue;
    const std::int64_t step = attrs.steps[static_cast<std::size_t>(sliced - attrs.axes.begin())];
    if (!fits(value.shape[axis], step, x.shape[axis])) {
      fail<IndexError>("the value {} with step {} does not fit axis {} of {}", type_text(value), step, axis,
                       type_text(x));
    }
  }
  return x;
}

Meta infer_pad_constant(const Meta& x, PadConstantAttrs& attrs) {
  if (attrs.low.size() != x.shape.size() || attrs.high.size() != x.shape.size()) {
    fail<ValueError>("padding {} and {} must have one amount for each axis of {}", attrs.low, attrs.high, type_text(x));
  }
  Meta result = x;
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    std::int64_t& extent = result.shape[axis];
    const bool overflow = __builtin_add_overflow(extent, attrs.low[axis], &extent) ||
                          __builtin_add_overflow(extent, attrs.high[axis], &extent);
    if (overflow || extent < 0) {
      fail<ShapeError>("padding axis {} of {} by {} and {} gives no valid length", axis, type_text(x), attrs.low[axis],
                       attrs.high[axis]);
    }
  }
  return result;
}

Meta infer_concatenate(std::span<const Meta> xs, ConcatenateAttrs& attrs) {
  if (xs.empty()) fail<ValueError>("at least one tensor is needed");
  const Meta& first = xs[0];
  if (first.shape.empty()) fail<ShapeError>("zero-dimensional tensors cannot be concatenated");
  attrs.axis = normalized_axis(attrs.axis, first);
  const auto along = static_cast<std::size_t>(attrs.axis);
  Meta result = first;
  for (std::size_t j = 1; j < xs.size(); ++j) {
    const Meta& x = xs[j];
    if (x.dtype != first.dtype) {
      fail<DTypeError>("tensors 0 and {} must have one dtype, got {} and {}", j, type_text(first), type_text(x));
    }
    Shape rest = x.shape;
    if (rest.size() == first.shape.size()) rest[along] = first.shape[along];
    if (rest != first.shape) {
      fail<ShapeError>("tensors 0 and {} may differ along axis {} only, got {} and {}", j, attrs.axis, first.shape,
                       x.shape);
    }
    if (__builtin_add_overflow(result.shape[along], x.shape[along], &result.shape[along])) {
      fail<ShapeError>("the result is too large");
    }
  }
  return result;
}

}  // namespace lento

// Index maps: each element of the result is an element of an operand at a computed position.
#include "backends/reference/array.h"
#include "backends/reference/convert.h"
#include "base/dispatch.h"
#include "ir/attrs_index_map.gen.h"
#include "ir/slices.h"
#include "reference/kernels_index_map.gen.h"

#include <algorithm>
#include <cstring>

namespace lento::reference {

namespace {

/// out[i] = x[start + offset of i by these strides], for every element of `out`.
void copy_strided(const Array& out, const Array& x, std::int64_t start, const Ints& strides) {
  dispatch(x.dtype(), [&]<class T>() {
    const T* from = x.as<T>();
    T* to = out.as<T>();
    for_each_offset(out.shape(), strides, [&](std::int64_t i, std::int64_t at) { to[i] = from[start + at]; });
  });
}

/// Where a slice lies in a tensor.
struct Slice {
  std::int64_t start = 0;  // of its first element
  Ints strides;            // between its neighbours
};

/// The slice of a tensor of shape `whole` that has `part` elements along each axis. Throws IndexError when it reaches
/// outside. `part` has no empty axis.
Slice locate(const Shape& whole, const Shape& part, std::span<const Scalar> starts, const Ints& axes,
             const Ints& steps) {
  require_slice_inside(whole, part, starts, axes, steps);
  Slice slice{0, row_major_strides(whole)};
  for (std::size_t j = 0; j < axes.size(); ++j) {
    const auto axis = static_cast<std::size_t>(axes[j]);
    slice.start += starts[j].to<std::int64_t>() * slice.strides[axis];
    slice.strides[axis] *= part[axis] == 1 ? 0 : steps[j];  // a single element takes no step, however large
  }
  return slice;
}

}  // namespace

void reshape(const Array& out, const Array& x, const ReshapeAttrs&) {
  if (x.size() != 0) std::memcpy(out.data(), x.data(), static_cast<std::size_t>(x.size()) * size_of(x.dtype()));
}

void permute_dims(const Array& out, const Array& x, const PermuteDimsAttrs& attrs) {
  const Ints strides = row_major_strides(x.shape());
  Ints permuted;
  for (const std::int64_t axis : attrs.axes) permuted.push_back(strides[static_cast<std::size_t>(axis)]);
  copy_strided(out, x, 0, permuted);
}

void broadcast_to(const Array& out, const Array& x, const BroadcastToAttrs&) {
  copy_strided(out, x, 0, broadcast_strides(x.shape(), out.shape()));
}

void as_strided(const Array& out, const Array& x, const Scalar& offset, const AsStridedAttrs& attrs) {
  if (out.size() == 0) return;
  const std::int64_t length = x.shape().back();
  const auto first = offset.to<std::int64_t>();
  require_strides_inside(length, first, attrs.sizes, attrs.strides);
  Ints strides = row_major_strides(x.shape());
  strides.resize(strides.size() - 1);
  for (std::size_t d = 0; d < attrs.sizes.size(); ++d) strides.push_back(attrs.sizes[d] == 1 ? 0 : attrs.strides[d]);
  copy_strided(out, x, first, strides);
}

void strided_slice(const Array& out, const Array& x, std::span<const Scalar> starts, const StridedSliceAttrs& attrs) {
  if (out.size() == 0) return;
  const Slice slice = locate(x.shape(), out.shape(), starts, attrs.axes, attrs.steps);
  copy_strided(out, x, slice.start, slice.strides);
}

// `out` holds x already.
void strided_update(const Array& out, const Array&, const Array& value, std::span<const Scalar> starts,
                    const StridedUpdateAttrs& attrs) {
  if (value.size() == 0) return;
  const Slice slice = locate(out.shape(), value.shape(), starts, attrs.axes, attrs.steps);
  dispatch(out.dtype(), [&]<class T>() {
    const T* from = value.as<T>();
    T* to = out.as<T>() + slice.start;
    for_each_offset(value.shape(), slice.strides, [&](std::int64_t i, std::int64_t at) { to[at] = from[i]; });
  });
}

void pad_constant(const Array& out, const Array& x, const Scalar& value, const PadConstantAttrs& attrs) {
  const Ints strides = row_major_strides(x.shape());
  dispatch(x.dtype(), [&]<class T>() {
    const T padding = convert_number<T>(value);
    for_each_position(out.shape(), [&](std::int64_t i, const Ints& position) {
      bool inside = true;
      std::int64_t at = 0;
      for (std::size_t axis = 0; axis < strides.size() && inside; ++axis) {
        const std::int64_t k = position[axis] - attrs.low[axis];
        inside = k >= 0 && k < x.shape()[axis];
        if (inside) at += k * strides[axis];
      }
      out.as<T>()[i] = inside ? x.as<T>()[at] : padding;
    });
  });
}

void concatenate(const Array& out, std::span<const Array> xs, const ConcatenateAttrs& attrs) {
  const std::int64_t outer = AxisView(out.shape(), attrs.axis).outer;
  dispatch(out.dtype(), [&]<class T>() {
    T* to = out.as<T>();
    for (std::int64_t o = 0; o < outer; ++o) {
      for (const Array& x : xs) {
        const std::int64_t piece = x.size() / outer;
        to = std::copy_n(x.as<T>() + o * piece, piece, to);
      }
    }
  });
}

}  // namespace lento::reference

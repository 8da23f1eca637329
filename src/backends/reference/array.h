// Array: how a kernel sees a tensor, and the two ways kernels walk over one.
//
// An Array is a view: it owns nothing, is always contiguous in row-major order, and its shape outlives the call.
// Kernels take `const Array&` for inputs and outputs alike; the output comes first and never overlaps an input, except
// in kernels that update in place (strided_update, scatter_axis, scatter_nd), where it already holds a copy of `x`.
#pragma once

#include <lento/dtype.h>
#include <lento/ints.h>
#include <lento/scalar.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace lento::reference {

class Array {
 public:
  Array(void* data, DType dtype, const Shape& shape) : data_(data), dtype_(dtype), shape_(&shape) {}

  void* data() const { return data_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return *shape_; }
  std::int64_t rank() const { return static_cast<std::int64_t>(shape_->size()); }
  /// Number of elements: 1 for a zero-dimensional array.
  std::int64_t size() const { return element_count(*shape_); }
  /// Length along `axis`, which is not negative.
  std::int64_t extent(std::int64_t axis) const { return (*shape_)[static_cast<std::size_t>(axis)]; }

  /// The elements as T, which must be the C++ type of this dtype.
  template <class T>
  T* as() const {
    assert(dtype_of<T>() == dtype_ && "kernel reads an array as another dtype");
    return static_cast<T*>(data_);
  }

 private:
  void* data_;
  DType dtype_;
  const Shape* shape_;
};

/// An operand of an elementwise kernel: an array, or a number converted once to the dtype the kernel computes in, which
/// then looks like a zero-dimensional array.
class KernelOperand {
 public:
  KernelOperand(const Array& array) : data_(array.data()), dtype_(array.dtype()), shape_(&array.shape()) {}
  KernelOperand(const Scalar& number, DType dtype) : dtype_(dtype) { number.write(dtype, number_); }

  const void* data() const { return shape_ != nullptr ? data_ : number_; }
  DType dtype() const { return dtype_; }
  /// () for a number.
  std::span<const std::int64_t> shape() const {
    return shape_ != nullptr ? shape_->span() : std::span<const std::int64_t>();
  }

 private:
  const void* data_ = nullptr;
  DType dtype_;
  const Shape* shape_ = nullptr;  // null for a number
  alignas(16) std::byte number_[16] = {};
};

/// Distance in elements between neighbours along each axis of a contiguous array.
inline Ints row_major_strides(std::span<const std::int64_t> shape) {
  Ints strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

/// Strides with which an operand of shape `from` is read while walking over `to`: 0 along axes that it is repeated
/// over.
inline Ints broadcast_strides(std::span<const std::int64_t> from, std::span<const std::int64_t> to) {
  const Ints own = row_major_strides(from);
  Ints strides(to.size(), 0);
  const std::size_t leading = to.size() - from.size();
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] != 1) strides[leading + axis] = own[axis];
  }
  return strides;
}

/// Walks over `shape` in row-major order and calls `visit(i, position)` with the running number of the element and its
/// coordinates.
template <class Visit>
void for_each_position(std::span<const std::int64_t> shape, Visit&& visit) {
  const std::int64_t count = element_count(shape);
  Ints position(shape.size(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    visit(i, std::as_const(position));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++position[axis] < shape[axis]) break;
      position[axis] = 0;
    }
  }
}

/// Walks over `shape` in row-major order and calls `visit(i, offset)` with the running number of the element and its
/// distance, in elements, from the first one in an array with these strides (of any sign).
template <class Visit>
void for_each_offset(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides, Visit&& visit) {
  const std::int64_t count = element_count(shape);
  Ints position(shape.size(), 0);
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    visit(i, offset);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++position[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      position[axis] = 0;
    }
  }
}

/// An array seen from one of its axes: `outer` × `extent` × `inner` elements. Element k of the line (o, i) is at
/// `start(o, i) + k * inner`.
struct AxisView {
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;

  AxisView(std::span<const std::int64_t> shape, std::int64_t axis) {
    for (std::size_t a = 0; a < shape.size(); ++a) {
      const auto at = static_cast<std::int64_t>(a);
      (at < axis ? outer : at == axis ? extent : inner) *= shape[a];
    }
  }

  std::int64_t start(std::int64_t o, std::int64_t i) const { return o * extent * inner + i; }
};

}  // namespace lento::reference

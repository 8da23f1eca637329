// Host memory of somebody else as it comes: any strides, perhaps in the other byte order.
#pragma once

#include <lento/device.h>
#include <lento/dtype.h>
#include <lento/export.h>
#include <lento/ints.h>
#include <lento/tensor.h>

#include <cstddef>
#include <memory>

namespace lento {

struct StridedMemory {
  const std::byte* data = nullptr;
  DType dtype = DType::float32;
  Shape shape;
  Ints strides;          // in bytes
  bool swapped = false;  // the bytes of each number are in the other order than the machine's

  std::size_t bytes() const { return static_cast<std::size_t>(element_count(shape)) * size_of(dtype); }
  /// Row-major, aligned and in the machine's byte order.
  bool contiguous() const;
  /// Aligned, in the machine's byte order, of strides that are whole elements, and something at all. Bools are
  /// contiguous and have no bytes but 0 and 1.
  bool shareable() const;
  /// Writes the elements in row-major order and native byte order.
  void copy_to(void* destination) const;
};

/// Row-major strides, in bytes.
Ints contiguous_strides(const Shape& shape, DType dtype);

/// A tensor with a copy of these elements.
Tensor copied_from(const StridedMemory& memory, Device device);

/// A tensor on shareable memory, as from_memory. If it is not contiguous, the tensor reads by strides whatever their
/// signs, and elements may overlap: what is computed from it reads the memory where it lies, and only a read of the
/// tensor itself copies.
Tensor shared_from(const StridedMemory& memory, std::shared_ptr<const void> owner, Device device);

}  // namespace lento

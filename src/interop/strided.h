// Host memory of somebody else as it comes: any strides, perhaps in the other byte order.
#pragma once

#include <lento/device.h>
#include <lento/dtype.h>
#include <lento/export.h>
#include <lento/ints.h>
#include <lento/tensor.h>

#include <cstddef>

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
  /// Contiguous, and something at all; bools have no bytes but 0 and 1.
  bool shareable() const;
  /// Writes the elements in row-major order and native byte order.
  void copy_to(void* destination) const;
};

/// Row-major strides, in bytes.
Ints contiguous_strides(const Shape& shape, DType dtype);

/// A tensor with a copy of these elements.
Tensor copied_from(const StridedMemory& memory, Device device);

}  // namespace lento

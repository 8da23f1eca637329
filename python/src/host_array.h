// Arrays in host memory as they come from Python: nested lists, NumPy arrays, objects with the buffer protocol.
#pragma once

#include "errors.h"

#include <lento/dtype.h>
#include <lento/ints.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace lento::python {

/// Strided host memory, with whoever keeps it alive.
struct HostArray {
  const std::byte* data = nullptr;
  DType dtype = DType::float32;
  Shape shape;
  Ints strides;          ///< in bytes
  bool swapped = false;  ///< the bytes of each number are in the other order than the machine's
  bool read_only = false;
  PyRef owner;  ///< keeps `data` valid

  bool contiguous() const;
  /// Contiguous, and something at all; bools have no bytes but 0 and 1.
  bool shareable() const;
  std::size_t bytes() const { return static_cast<std::size_t>(element_count(shape)) * size_of(dtype); }
  /// Writes the elements in row-major order and native byte order.
  void copy_to(void* destination) const;
};

/// Row-major strides, in bytes.
Ints contiguous_strides(const Shape& shape, DType dtype);

/// The memory of a NumPy array or scalar, of an object with `__array__`, or with the buffer protocol; nothing when
/// `object` is none of these. Throws TypeError for element types that Lento does not have and for masked arrays.
std::optional<HostArray> host_array(PyObject* object);

/// A list or tuple: its items can be read in place.
inline bool is_list_or_tuple(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }
/// Throws ValueError where lists are nested too deeply: one may contain itself.
void check_nesting(int level);

/// The elements of nested sequences of numbers (or one number), in row-major order. Tensors are none: creation.h.
struct HostList {
  DType dtype = DType::float32;
  Shape shape;
  std::vector<std::byte> bytes;
};

/// `object` as an array: bool, int64, float32 or complex64, whichever holds all numbers, or `dtype`. Throws ValueError
/// when the nesting is ragged, TypeError when an element is no number, OverflowError when one does not fit.
HostList host_list(PyObject* object, std::optional<DType> dtype);

}  // namespace lento::python

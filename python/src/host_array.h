// Arrays in host memory as they come from Python: nested lists, NumPy arrays, objects with the buffer protocol.
#pragma once

#include "errors.h"

#include <lento/dtype.h>
#include <lento/ints.h>

#include "interop/strided.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace lento::python {

/// Host memory, with whoever keeps it alive.
struct HostArray : StridedMemory {
  bool read_only = false;
  PyRef owner;  ///< keeps `data` valid
};

/// The memory of a NumPy array or scalar, of an object with `__array__`, or with the buffer protocol; nothing when
/// `object` is none of these. Throws TypeError for element types that Lento does not have and for masked arrays.
std::optional<HostArray> host_array(PyObject* object);

/// A list or tuple: its items can be read in place.
inline bool is_list_or_tuple(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }
/// What stands for a tensor where one is expected, as NumPy takes it.
inline bool is_list_or_range(PyObject* object) { return is_list_or_tuple(object) || PyRange_Check(object); }
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

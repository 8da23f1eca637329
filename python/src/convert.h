// Conversions between Python objects and Lento's small value types: numbers, ints, dtypes, devices.
#pragma once

#include "errors.h"

#include <lento/device.h>
#include <lento/dtype.h>
#include <lento/ints.h>
#include <lento/scalar.h>
#include <lento/tensor.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace lento::python {

/// A Python or NumPy scalar as a weak number; nothing when `object` is not a number (no exception is set then). An int
/// outside the range of int64 and uint64 raises OverflowError (throws PythonError).
std::optional<Scalar> to_scalar(PyObject* object);

/// A number as the Python object of its kind: bool, int, float or complex.
PyObject* from_scalar(const Scalar& scalar);

/// An int (or NumPy integer, or anything with __index__ but bool); nothing when it is none.
std::optional<std::int64_t> to_int(PyObject* object);

/// A shape as a tuple of ints (new reference).
PyObject* from_ints(std::span<const std::int64_t> values);

/// lento.float32, np.float32, np.dtype("float32"), "float32", float, int, bool, complex; nothing when it is none of
/// these. Throws TypeError for a dtype that Lento does not have, such as np.str_.
std::optional<DType> to_dtype(PyObject* object);

/// The one object for a dtype: `x.dtype is lento.float32` (new reference).
PyObject* from_dtype(DType dtype);

/// lento.Device or "cpu:0"; nothing when it is neither. Throws DeviceError when there is no such device.
std::optional<Device> to_device(PyObject* object);
PyObject* from_device(Device device);

// For functions bound with nanobind, whose own messages for arguments of a wrong type know no line. `function` and
// `name` are what the message calls the function and the argument.
bool bool_argument(PyObject* object, const char* function, const char* name);
std::string_view string_argument(PyObject* object, const char* function, const char* name);
/// A whole number from 0 to `largest`.
std::uint64_t count_argument(PyObject* object, const char* function, const char* name,
                             std::uint64_t largest = std::numeric_limits<std::uint64_t>::max());

/// The same for an optional argument `device` of this function: None is the default device.
Device device_or_default(PyObject* object, const char* function);

/// The tensors in a tensor or in lists and tuples of them, in order; `function` is whose argument it is.
void collect_tensors(PyObject* object, const char* function, std::vector<Tensor>& tensors);

/// A str as UTF-8; nothing when it is none.
std::optional<std::string_view> to_string_view(PyObject* object);

/// numpy.generic, or null while NumPy has not been imported by anybody (borrowed).
PyObject* numpy_generic();
/// True for numpy.ndarray instances; false while NumPy has not been imported.
bool is_numpy_array(PyObject* object);

}  // namespace lento::python

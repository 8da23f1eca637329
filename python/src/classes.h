// The small classes bound with nanobind: dtype, Device, Generator and the like; how other files get at their values.
#pragma once

#include "errors.h"

#include <lento/device.h>
#include <lento/dtype.h>
#include <lento/random.h>

namespace lento::python {

/// The value inside a lento.DType, lento.Device or lento.random.Generator; null for any other object.
const DType* dtype_value(PyObject* object);
const Device* device_value(PyObject* object);
Generator* generator_value(PyObject* object);

/// For a class bound with nanobind: `Class.__new__(Class)`, which would give an object without a value, raises
/// TypeError. Calling the class goes another way.
void make_only_by_call(PyObject* type);

/// Adds the classes and the dtype constants to lento._core.
void add_classes(PyObject* module);

}  // namespace lento::python

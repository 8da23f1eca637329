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

/// Adds the classes and the dtype constants to lento._core.
void add_classes(PyObject* module);

}  // namespace lento::python

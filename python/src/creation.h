// Tensors from Python objects.
#pragma once

#include "errors.h"

#include <lento/device.h>
#include <lento/dtype.h>
#include <lento/tensor.h>

#include "host_array.h"

#include <optional>

namespace lento::python {

/// lento.asarray: `object` may be a tensor, a number, nested sequences, a NumPy array, or have the buffer protocol,
/// `__dlpack__` or `__array__`. copy: nothing = memory that may be written is copied, other memory shared where it can
/// be; true = always copied; false = shared, or ValueError.
Tensor as_tensor(PyObject* object, std::optional<DType> dtype = {}, std::optional<Device> device = {},
                 std::optional<bool> copy = {});

/// Nested lists as an argument, beside others of dtype `beside`: as by asarray, but floats are as exact as those.
Tensor list_as_tensor(PyObject* list, std::optional<DType> beside);

/// A tensor with a copy of these elements.
Tensor copied_from(const HostArray& array, Device device);

}  // namespace lento::python

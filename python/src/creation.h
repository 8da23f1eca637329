// Tensors from Python objects.
#pragma once

#include "errors.h"

#include <lento/device.h>
#include <lento/dtype.h>
#include <lento/tensor.h>

#include <optional>

namespace lento::python {

/// lento.asarray: `object` may be a tensor, a number, nested sequences, a NumPy array, or have the buffer protocol.
/// copy: nothing = as is best, true = always, false = share the memory or raise ValueError.
Tensor as_tensor(PyObject* object, std::optional<DType> dtype = {}, std::optional<Device> device = {},
                 std::optional<bool> copy = {});

}  // namespace lento::python

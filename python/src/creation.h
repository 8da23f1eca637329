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

/// Nested lists, or one number, as an argument beside others of dtype `beside`: as by asarray, but the floats of lists
/// are as exact as those, and a float of Python's takes their dtype where it is floating (clause T3).
Tensor plain_as_tensor(PyObject* object, std::optional<DType> beside);

/// A list, or a NumPy array of integers, that holds nothing but 0 and 1, or bools, as a mask; nothing for all else.
std::optional<Tensor> as_mask(PyObject* object);

}  // namespace lento::python

// Exchange of memory with other array libraries by DLPack.
#pragma once

#include "errors.h"

#include <lento/device.h>
#include <lento/tensor.h>

#include <optional>

namespace lento::python {

/// A tensor with the memory of an object that has `__dlpack__`. Memory that may still be written is copied (a tensor is
/// a value) unless copy is false; then, and where the producer says that nobody writes it, it is shared. Throws
/// BufferError when that cannot be done, or when the memory is not the host's.
Tensor from_dlpack(PyObject* object, std::optional<Device> device, std::optional<bool> copy);

/// lento.from_dlpack, and `__dlpack__` and `__dlpack_device__` of Tensor.
void add_dlpack(PyObject* module);

}  // namespace lento::python

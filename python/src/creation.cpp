#include "creation.h"

#include "arguments.h"
#include "convert.h"
#include "host_array.h"
#include "tensor_type.h"

#include <lento/ops.gen.h>

#include <vector>

namespace lento::python {
namespace {

Tensor from_host_array(const HostArray& array, Device device) {
  if (array.contiguous()) return from_host(array.data, array.dtype, array.shape, device);
  std::vector<std::byte> bytes(array.bytes());
  array.copy_to(bytes.data());
  return from_host(bytes.data(), array.dtype, array.shape, device);
}

}  // namespace

Tensor as_tensor(PyObject* object, std::optional<DType> dtype, std::optional<Device> device, std::optional<bool> copy) {
  if (is_tensor(object)) {
    const Tensor& tensor = tensor_of(object);
    if (device && *device != tensor.device()) {
      raise(PyExc_ValueError, "asarray(): moving a tensor to another device is not supported yet");
    }
    if (!dtype || *dtype == tensor.dtype()) return tensor;
    if (copy == false) raise(PyExc_ValueError, "asarray(): another dtype needs a copy, and copy=False forbids it");
    return lento::astype(tensor, *dtype);
  }
  if (copy == false) {
    raise(PyExc_ValueError, "asarray(): host memory is copied when it becomes a tensor; copy=False cannot hold");
  }
  if (const auto array = host_array(object)) {
    const Tensor tensor = from_host_array(*array, device.value_or(Device{}));
    return !dtype || *dtype == tensor.dtype() ? tensor : lento::astype(tensor, *dtype);
  }
  const HostList list = host_list(object, dtype);
  return from_host(list.bytes.data(), list.dtype, list.shape, device.value_or(Device{}));
}

}  // namespace lento::python

#include "creation.h"

#include "arguments.h"
#include "convert.h"
#include "dlpack.h"
#include "foreign.h"
#include "host_array.h"
#include "tensor_type.h"

#include <lento/ops.gen.h>

#include <vector>

namespace lento::python {
namespace {

Tensor shared_from(const HostArray& array, Device device) {
  return from_memory(array.data, array.dtype, array.shape, owner_of(array.owner.get()), device);
}

Tensor from_tensor(const Tensor& tensor, std::optional<DType> dtype, Device device, std::optional<bool> copy) {
  const bool moved = device != tensor.device();
  const bool cast = dtype && *dtype != tensor.dtype();
  if (copy == false && (moved || cast)) {
    raise(PyExc_ValueError, "asarray(): another %s needs a copy, and copy=False forbids it", cast ? "dtype" : "device");
  }
  const Tensor there = moved ? to_device(tensor, device) : tensor;
  return cast ? lento::astype(there, *dtype) : there;
}

Tensor from_array(const HostArray& array, std::optional<DType> dtype, Device device, std::optional<bool> copy) {
  const bool cast = dtype && *dtype != array.dtype;
  const bool can_share = array.shareable() && in_host_memory(device);
  if (copy == false && (cast || (!can_share && array.bytes() != 0))) {
    raise(PyExc_ValueError,
          "asarray(): copy=False needs memory that is row-major, aligned and of the dtype, and a device that uses host "
          "memory");
  }
  const bool share = can_share && (copy == false || (!copy && array.read_only));
  const Tensor tensor = share ? shared_from(array, device) : copied_from(array, device);
  return cast ? lento::astype(tensor, *dtype) : tensor;
}

/// True for arrays of other libraries that hand their memory over themselves. It is asked for before the buffer
/// protocol, which has no words for some dtypes.
bool gives_memory(PyObject* object) {
  if (is_numpy_array(object) || PyType_Check(object)) return false;
  return PyObject_HasAttrString(object, "__dlpack__") != 0 && PyObject_HasAttrString(object, "__dlpack_device__") != 0;
}

}  // namespace

Tensor copied_from(const HostArray& array, Device device) {
  if (array.contiguous()) return from_host(array.data, array.dtype, array.shape, device);
  std::vector<std::byte> bytes(array.bytes());
  array.copy_to(bytes.data());
  return from_host(bytes.data(), array.dtype, array.shape, device);
}

Tensor as_tensor(PyObject* object, std::optional<DType> dtype, std::optional<Device> device, std::optional<bool> copy) {
  if (is_tensor(object)) {
    const Tensor& tensor = tensor_of(object);
    return from_tensor(tensor, dtype, device.value_or(tensor.device()), copy);
  }
  if (gives_memory(object)) {
    try {
      const Tensor tensor = from_dlpack(object, device, copy);
      return from_tensor(tensor, dtype, tensor.device(), copy);
    } catch (const PythonError&) {
      // NumPy's way may still be open: through a copy, or for a dtype that DLPack does not have.
      const bool refused = PyErr_ExceptionMatches(PyExc_BufferError) != 0;
      if (refused && copy == false) {
        PyErr_Clear();
        raise(PyExc_ValueError, "asarray(): %s cannot share its memory, and copy=False forbids a copy",
              Py_TYPE(object)->tp_name);
      }
      if (!refused || PyObject_HasAttrString(object, "__array__") == 0) throw;
      PyErr_Clear();
    }
  }
  if (const auto array = host_array(object)) return from_array(*array, dtype, device.value_or(Device{}), copy);
  if (copy == false) {
    raise(PyExc_ValueError, "asarray(): %s has no memory that a tensor could share; copy=False cannot hold",
          Py_TYPE(object)->tp_name);
  }
  const HostList list = host_list(object, dtype);
  return from_host(list.bytes.data(), list.dtype, list.shape, device.value_or(Device{}));
}

}  // namespace lento::python

#include "creation.h"
#include "python/creation.calls.gen.h"

#include "arguments.h"
#include "convert.h"
#include "dlpack.h"
#include "foreign.h"
#include "gil.h"
#include "host_array.h"
#include "items.h"
#include "tensor_type.h"

#include <lento/error.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace lento::python {
namespace {

Tensor from_tensor(const Tensor& tensor, std::optional<DType> dtype, Device device, std::optional<bool> copy) {
  const bool moved = device != tensor.device();
  const bool cast = dtype && *dtype != tensor.dtype();
  if (copy == false && (moved || cast)) {
    raise(PyExc_ValueError, "asarray(): another %s needs a copy, and copy=False forbids it", cast ? "dtype" : "device");
  }
  const Tensor held = tensor;
  const MayBlock may_block;  // a move reads the value
  const Tensor there = moved ? to_device(held, device) : held;
  return cast ? lento::astype(there, *dtype) : there;
}

Tensor from_array(const HostArray& array, std::optional<DType> dtype, Device device, std::optional<bool> copy) {
  const bool cast = dtype && *dtype != array.dtype;
  const bool can_share = array.shareable() && in_host_memory(device);
  if (copy == false && (cast || (!can_share && array.bytes() != 0))) {
    raise(
        PyExc_ValueError,
        "asarray(): copy=False needs memory that is aligned and of the dtype, strides of whole elements, and a device "
        "that uses host memory");
  }
  const bool share = can_share && (copy == false || (!copy && array.read_only));
  const Tensor tensor = share ? shared_from(array, owner_of(array.owner.get()), device) : copied_from(array, device);
  return cast ? lento::astype(tensor, *dtype) : tensor;
}

/// True for arrays of other libraries that hand their memory over themselves. It is asked for before the buffer
/// protocol, which has no words for some dtypes.
bool gives_memory(PyObject* object) {
  if (is_numpy_array(object) || PyType_Check(object)) return false;
  return PyObject_HasAttrString(object, "__dlpack__") != 0 && PyObject_HasAttrString(object, "__dlpack_device__") != 0;
}

// --- nested sequences with tensors among their elements ---

bool has_tensor(PyObject* object, int level = 0) {
  check_nesting(level);
  if (is_tensor(object)) return true;
  if (!is_list_or_tuple(object)) return false;
  const Items items(object);
  for (Py_ssize_t i = 0; i < items.size(); ++i) {
    if (has_tensor(items[i].get(), level + 1)) return true;
  }
  return false;
}

/// Stacks the tensors, and plain numbers among them: nothing is read, and derivatives pass.
class Nested {
 public:
  Nested(std::optional<DType> dtype, std::optional<Device> device)
      : dtype_(dtype), device_(device), moves_(device.has_value()) {}

  Tensor stacked(PyObject* object) {
    if (!dtype_ || !device_) look_at(object);
    // Python code that runs while numbers are converted may have taken the tensors out.
    if (!device_ || (!dtype_ && !of_tensors_))
      raise(PyExc_RuntimeError, "asarray(): the list changed while it was read");
    if (!dtype_) dtype_ = common_dtype();
    return build(object);
  }

 private:
  static int kind(DType dtype) { return is_complex(dtype) ? 3 : is_floating(dtype) ? 2 : is_integer(dtype) ? 1 : 0; }

  /// Numbers are weak: they count only where their kind is above that of all tensors.
  DType common_dtype() const {
    return !of_numbers_ || kind(*of_numbers_) <= kind(*of_tensors_) ? *of_tensors_
                                                                    : promote(*of_tensors_, *of_numbers_);
  }

  static void widen(std::optional<DType>& sum, DType dtype) { sum = sum ? promote(*sum, dtype) : dtype; }

  void look_at(PyObject* object, int level = 0) {
    check_nesting(level);
    if (is_tensor(object)) {
      widen(of_tensors_, tensor_of(object).dtype());
      const Device device = tensor_of(object).device();
      if (!device_) device_ = device;
      if (!moves_ && device != *device_) {
        throw DeviceError("asarray(): tensors of one list are on " + device_->to_string() + " and " +
                          device.to_string() + "; name the device they shall be on");
      }
    } else if (!has_tensor(object)) {
      widen(of_numbers_, host_list(object, std::nullopt).dtype);
    } else {
      const Items items(object);
      for (Py_ssize_t i = 0; i < items.size(); ++i) look_at(items[i].get(), level + 1);
    }
  }

  Tensor build(PyObject* object, int level = 0) const {
    check_nesting(level);
    if (is_tensor(object)) return from_tensor(tensor_of(object), dtype_, *device_, std::nullopt);
    if (!has_tensor(object)) {
      const HostList list = host_list(object, dtype_);
      return from_host(list.bytes.data(), list.dtype, list.shape, *device_);
    }
    std::vector<Tensor> parts;
    const Items items(object);
    for (Py_ssize_t i = 0; i < items.size(); ++i) {
      parts.push_back(build(items[i].get(), level + 1));
      if (parts.back().shape() == parts.front().shape()) continue;
      const PyRef first = own(from_ints(parts.front().shape()));
      const PyRef other = own(from_ints(parts.back().shape()));
      raise(PyExc_ValueError, "asarray(): elements of one sequence have different shapes: %S and %S", first.get(),
            other.get());
    }
    return stack(parts);
  }

  std::optional<DType> dtype_;
  std::optional<Device> device_;
  bool moves_;  // to a device that was asked for
  std::optional<DType> of_tensors_;
  std::optional<DType> of_numbers_;
};

}  // namespace

Tensor plain_as_tensor(PyObject* object, std::optional<DType> beside) {
  if (PyFloat_CheckExact(object) && beside && is_inexact(*beside)) return as_tensor(object, real_type(*beside));
  if (has_tensor(object) || host_array(object)) return as_tensor(object);  // NumPy's numbers have a dtype
  const DType dtype = host_list(object, {}).dtype;
  const bool is_double = beside == DType::float64 || beside == DType::complex128;
  if (is_double && dtype == kDefaultFloat) return as_tensor(object, DType::float64);
  if (is_double && dtype == kDefaultComplex) return as_tensor(object, DType::complex128);
  return as_tensor(object);
}

std::optional<Tensor> as_mask(PyObject* object) {
  PyRef plain = PyRef::borrow(object);
  if (is_numpy_array(object)) {
    const auto array = host_array(object);
    if (!array || !is_integer(array->dtype)) return std::nullopt;
    plain = own(PyObject_CallMethod(object, "tolist", nullptr));
  } else if (!is_list_or_range(object) || has_tensor(object)) {
    return std::nullopt;
  }
  const HostList list = host_list(plain.get(), std::nullopt);
  if (list.dtype == DType::bool_ || list.bytes.empty())
    return from_host(list.bytes.data(), DType::bool_, list.shape, Device{});
  if (list.dtype != DType::int64) return std::nullopt;
  std::vector<std::uint8_t> bits;
  bits.reserve(list.bytes.size() / sizeof(std::int64_t));
  for (std::size_t at = 0; at < list.bytes.size(); at += sizeof(std::int64_t)) {
    std::int64_t value = 0;
    std::memcpy(&value, list.bytes.data() + at, sizeof(value));
    if (value != 0 && value != 1) return std::nullopt;
    bits.push_back(static_cast<std::uint8_t>(value));
  }
  return from_host(bits.data(), DType::bool_, list.shape, Device{});
}

Tensor as_tensor(PyObject* object, std::optional<DType> dtype, std::optional<Device> device, std::optional<bool> copy) {
  if (is_tensor(object)) {
    const Tensor& tensor = tensor_of(object);
    return from_tensor(tensor, dtype, device.value_or(tensor.device()), copy);
  }
  if (gives_memory(object)) {
    const bool has_array = PyObject_HasAttrString(object, "__array__") != 0;
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
      if (!refused || !has_array) throw;
      PyErr_Clear();
    }
  }
  if (const auto array = host_array(object)) return from_array(*array, dtype, device ? *device : Device{}, copy);
  if (copy == false) {
    raise(PyExc_ValueError, "asarray(): %s has no memory that a tensor could share; copy=False cannot hold",
          Py_TYPE(object)->tp_name);
  }
  if (has_tensor(object)) return Nested(dtype, device).stacked(object);
  const HostList list = host_list(object, dtype);
  return from_host(list.bytes.data(), list.dtype, list.shape, device ? *device : Device{});
}

}  // namespace lento::python

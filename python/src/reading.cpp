// Methods of lento.Tensor that bring values to Python: numpy(), tolist(), item() and the protocols built on them.
#include "arguments.h"
#include "convert.h"
#include "gil.h"
#include "source.h"
#include "tensor_type.h"

#include <lento/differentiation.h>

#include <cstddef>
#include <cstring>
#include <string>

namespace lento::python {
namespace {

template <class F>
PyObject* guarded(F&& body) noexcept {
  try {
    const PythonSourceScope source;
    return body();
  } catch (...) {
    return set_exception();
  }
}

PyRef import_numpy() {
  PyRef numpy(PyImport_ImportModule("numpy"));
  if (numpy) return numpy;
  // One that is there and fails tells why by itself.
  if (PyErr_ExceptionMatches(PyExc_ModuleNotFoundError) == 0) throw PythonError{};
  PyErr_Clear();
  raise(PyExc_ImportError, "numpy(): NumPy is not installed; install it, or use tolist() or item()");
}

PyRef numpy_dtype(PyObject* numpy, DType dtype) {
  if (dtype == DType::bfloat16) {
    PyRef module(PyImport_ImportModule("ml_dtypes"));
    if (!module) {
      PyErr_Clear();
      raise(PyExc_TypeError,
            "numpy(): NumPy has no bfloat16 of its own; install ml_dtypes, or use astype(lento.float32) first");
    }
    const PyRef scalar_type = own(PyObject_GetAttrString(module.get(), "bfloat16"));
    return own(PyObject_CallMethod(numpy, "dtype", "O", scalar_type.get()));
  }
  return own(PyObject_CallMethod(numpy, "dtype", "s", std::string(name(dtype)).c_str()));
}

// A new NumPy array with the elements of the tensor.
PyRef to_numpy(const Tensor& tensor) {
  const Tensor held = tensor;
  const PyRef numpy = import_numpy();
  const PyRef dtype = numpy_dtype(numpy.get(), held.dtype());
  const PyRef shape = own(from_ints(held.shape()));
  PyRef array = own(PyObject_CallMethod(numpy.get(), "empty", "OO", shape.get(), dtype.get()));
  const auto bytes = static_cast<std::size_t>(held.size()) * size_of(held.dtype());
  const void* source = read_data(held);
  if (bytes == 0) return array;
  // Not the buffer protocol: NumPy refuses it for bfloat16.
  const PyRef interface = own(PyObject_GetAttrString(array.get(), "__array_interface__"));
  PyObject* data = PyDict_GetItemString(interface.get(), "data");
  void* destination = PyLong_AsVoidPtr(PyTuple_GetItem(data, 0));
  if (destination == nullptr) throw PythonError{};
  std::memcpy(destination, source, bytes);
  return array;
}

PyObject* numpy_method(PyObject* self, PyObject* /*unused*/) {
  return guarded([&] { return to_numpy(tensor_of(self)).release(); });
}

// The memory of the tensor as a read-only NumPy array; nothing when the buffer protocol has no word for its dtype.
PyRef shared_array(PyObject* self) {
  if (tensor_of(self).dtype() == DType::bfloat16) return {};
  const PyRef numpy = import_numpy();
  const PyRef view = own(PyMemoryView_FromObject(self));
  return own(PyObject_CallMethod(numpy.get(), "asarray", "O", view.get()));
}

PyObject* array_method(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"dtype", "copy", nullptr};
  PyObject* dtype = Py_None;
  PyObject* copy = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", const_cast<char**>(names), &dtype, &copy) == 0)
    return nullptr;
  if (raise_interruption(self)) return nullptr;
  return guarded([&]() -> PyObject* {
    PyRef array = copy == Py_True ? PyRef() : shared_array(self);
    if (!array) {
      if (copy == Py_False) raise(PyExc_ValueError, "__array__(): bfloat16 needs a copy, and copy=False forbids it");
      array = to_numpy(tensor_of(self));
    }
    if (dtype == Py_None) return array.release();
    PyRef converted = own(PyObject_CallMethod(array.get(), "astype", "OssOO", dtype, "K", "unsafe", Py_True, Py_False));
    if (copy == Py_False && converted.get() != array.get())
      raise(PyExc_ValueError, "__array__(): another dtype needs a copy, and copy=False forbids it");
    return converted.release();
  });
}

PyObject* list_axis(DType dtype, std::span<const std::int64_t> shape, const std::byte*& data) {
  if (shape.empty()) {
    PyObject* number = from_scalar(Scalar::read(dtype, data));
    data += size_of(dtype);
    return checked(number);
  }
  PyRef list = own(PyList_New(static_cast<Py_ssize_t>(shape[0])));
  constexpr std::int64_t kAtOnce = 1 << 16;  // numbers between two looks at signals
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    if (i % kAtOnce == kAtOnce - 1 && PyErr_CheckSignals() < 0) throw PythonError{};
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), list_axis(dtype, shape.subspan(1), data));
  }
  return list.release();
}

PyObject* tolist_method(PyObject* self, PyObject* /*unused*/) {
  return guarded([&] {
    const Tensor held = tensor_of(self);
    const auto* data = static_cast<const std::byte*>(read_data(held));
    return list_axis(held.dtype(), held.shape(), data);
  });
}

PyObject* item_method(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    const Tensor held = tensor_of(self);
    if (count == 0) {
      if (held.size() != 1)
        raise(PyExc_ValueError, "item(): the tensor has %lld elements, not one", static_cast<long long>(held.size()));
      return checked(from_scalar(read_scalar(held)));
    }
    // item(i) counts in row-major order, item(i, j) goes by axes, as in NumPy.
    std::int64_t position = 0;
    const Shape flat{held.size()};
    const Shape& shape = count == 1 ? flat : held.shape();
    if (static_cast<std::size_t>(count) != shape.size())
      raise(PyExc_ValueError, "item(): %zd positions for %zu axes", count, shape.size());
    for (Py_ssize_t axis = 0; axis < count; ++axis) {
      const auto given = to_int(args[axis]);
      if (!given) raise(PyExc_TypeError, "item(): positions must be int, not %s", Py_TYPE(args[axis])->tp_name);
      const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
      const std::int64_t index = *given < 0 ? *given + extent : *given;
      if (index < 0 || index >= extent) {
        raise(PyExc_IndexError, "item(): position %lld is out of range for %lld elements",
              static_cast<long long>(*given), static_cast<long long>(extent));
      }
      position = position * extent + index;
    }
    const auto* data = static_cast<const std::byte*>(read_data(held));
    return checked(
        from_scalar(Scalar::read(held.dtype(), data + static_cast<std::size_t>(position) * size_of(held.dtype()))));
  });
}

PyObject* complex_method(PyObject* self, PyObject* /*unused*/) {
  return guarded([&]() -> PyObject* {
    const Tensor& x = tensor_of(self);
    if (x.size() != 1) raise(PyExc_TypeError, "only a tensor of one element can be converted to complex");
    const auto value = read_scalar(x).to<std::complex<double>>();
    return checked(PyComplex_FromDoubles(value.real(), value.imag()));
  });
}

// Tensors are values: a copy is another handle on the same one.
PyObject* copy_method(PyObject* self, PyObject* /*unused*/) {
  return guarded([&] { return wrap(Tensor(tensor_of(self))); });
}

PyObject* detach_method(PyObject* self, PyObject* /*unused*/) {
  return guarded([&] {
    const Tensor held = tensor_of(self);
    const MayBlock may_block;
    return wrap(stop_gradient(held));
  });
}

PyRef to_bytes(const Tensor& held) {
  const void* data = read_data(held);
  const auto bytes = static_cast<Py_ssize_t>(held.size()) * static_cast<Py_ssize_t>(size_of(held.dtype()));
  return own(PyBytes_FromStringAndSize(static_cast<const char*>(data), bytes));
}

PyObject* tobytes_method(PyObject* self, PyObject* /*unused*/) {
  return guarded([&] { return to_bytes(Tensor(tensor_of(self))).release(); });
}

// From protocol 5 on the content travels beside the pickle, without a copy, when the pickler can do that.
PyObject* reduce_method(PyObject* self, PyObject* protocol) {
  return guarded([&]() -> PyObject* {
    const Tensor held = tensor_of(self);
    const auto version = to_int(protocol);
    const bool beside = version.value_or(0) >= 5 && held.dtype() != DType::bfloat16;
    const PyRef content = beside ? own(PyPickleBuffer_FromObject(self)) : to_bytes(held);
    const PyRef module = own(PyImport_ImportModule("lento._pickle"));
    const PyRef rebuild = own(PyObject_GetAttrString(module.get(), "tensor"));
    const PyRef shape = own(from_ints(held.shape()));
    return checked(
        Py_BuildValue("O(sOO)", rebuild.get(), std::string(name(held.dtype())).c_str(), shape.get(), content.get()));
  });
}

PyObject* plain_reduce_method(PyObject* self, PyObject* /*unused*/) { return reduce_method(self, Py_None); }

template <class F>
PyCFunction method(F* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function));
}

}  // namespace

PyMethodDef reading_methods[] = {
    {"numpy", method(numpy_method), METH_NOARGS,
     "numpy($self, /)\n--\n\nThe values as a new NumPy array. Computes them if they are pending."},
    {"to_numpy", method(numpy_method), METH_NOARGS, "to_numpy($self, /)\n--\n\nThe same as numpy()."},
    {"tobytes", method(tobytes_method), METH_NOARGS,
     "tobytes($self, /)\n--\n\nThe elements in memory, row-major, as bytes."},
    {"detach", method(detach_method), METH_NOARGS,
     "detach($self, /)\n--\n\nPyTorch's name for stop_gradient(x): the same values as a constant."},
    {"fill", method(fill_method), METH_O, "fill($self, value, /)\n--\n\nx[...] = value."},
    {"tolist", method(tolist_method), METH_NOARGS,
     "tolist($self, /)\n--\n\nThe values as nested lists of Python numbers."},
    {"item", method(item_method), METH_FASTCALL,
     "item($self, /, *position)\n--\n\nOne element as a Python number; the only one, or the one at a position."},
    {"__array__", method(array_method), METH_VARARGS | METH_KEYWORDS,
     "__array__($self, /, dtype=None, copy=None)\n--\n\nFor numpy.asarray(x)."},
    {"__complex__", method(complex_method), METH_NOARGS, "__complex__($self, /)\n--\n\ncomplex(x)."},
    {"__copy__", method(copy_method), METH_NOARGS, nullptr},
    {"__deepcopy__", method(copy_method), METH_O, nullptr},
    {"__reduce__", method(plain_reduce_method), METH_NOARGS, nullptr},
    {"__reduce_ex__", method(reduce_method), METH_O, nullptr},
    {"__bytes__", method(tobytes_method), METH_NOARGS, nullptr},  // else bytes(x) of an integer is that many zeros
    {"__format__", method(format_method), METH_O, nullptr},
    {"__round__", method(round_method), METH_FASTCALL, nullptr},
    {"_repr_html_", method(html_method), METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace lento::python

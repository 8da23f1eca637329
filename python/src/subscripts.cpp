// x[...] and x[...] = v: Python's index objects as lento::Index.
#include "arguments.h"
#include "convert.h"
#include "creation.h"
#include "gil.h"
#include "host_array.h"
#include "source.h"
#include "tensor_type.h"

#include <lento/indexing.h>

#include <optional>
#include <vector>

namespace lento::python {
namespace {

std::optional<std::int64_t> slice_bound(PyObject* object) {
  if (object == Py_None) return std::nullopt;
  if (PyIndex_Check(object) == 0) {
    raise(PyExc_TypeError, "slice indices must be integers or None or have an __index__ method, not %s",
          Py_TYPE(object)->tp_name);
  }
  // Clamps what does not fit, as Python's own slices do.
  const Py_ssize_t value = PyNumber_AsSsize_t(object, nullptr);
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError{};
  return value;
}

Index index_of(PyObject* item) {
  if (PyLong_CheckExact(item)) {
    const long long value = PyLong_AsLongLong(item);
    if (value == -1 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      raise(PyExc_IndexError, "index %S is out of range", item);
    }
    return Index(static_cast<std::int64_t>(value));
  }
  if (PySlice_Check(item)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(item);
    return Index(Slice{slice_bound(slice->start), slice_bound(slice->stop), slice_bound(slice->step)});
  }
  if (is_tensor(item)) return Index(tensor_of(item));
  if (item == Py_None) return Index(newaxis);
  if (item == Py_Ellipsis) return Index(ellipsis);
  if (PyList_Check(item) || PyTuple_Check(item) || PyRange_Check(item)) {
    const bool empty = PyObject_Size(item) == 0;
    return Index(as_tensor(item, empty ? std::optional(kDefaultInt) : std::nullopt));
  }
  if (is_numpy_array(item)) return Index(as_tensor(item));
  if (const auto number = to_scalar(item)) {
    if (number->is_bool()) return Index(number->to<bool>());
    if (number->is_integer()) return Index(number->to<std::int64_t>());
  } else if (const auto value = to_int(item)) {
    return Index(*value);
  }
  raise(PyExc_IndexError,
        "only integers, slices (`:`), ellipsis (`...`), None, and integer or boolean tensors are valid indices, not %s",
        Py_TYPE(item)->tp_name);
}

std::vector<Index> index_list(PyObject* key) {
  std::vector<Index> index;
  if (!PyTuple_Check(key)) {
    index.push_back(index_of(key));
    return index;
  }
  const Py_ssize_t size = PyTuple_GET_SIZE(key);
  index.reserve(static_cast<std::size_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i) index.push_back(index_of(PyTuple_GET_ITEM(key, i)));
  return index;
}

}  // namespace

PyObject* get_item_object(PyObject* self, PyObject* key) noexcept {
  try {
    const PythonSourceScope source;
    const std::vector<Index> index = index_list(key);
    // A mask is counted, which waits; then this thread holds the only handles that matter (an Index has its own).
    const Tensor x = tensor_of(self);
    const MayBlock may_block;
    return wrap(get_item(x, index));
  } catch (...) {
    return set_exception();
  }
}

PyObject* get_row(PyObject* self, Py_ssize_t row) noexcept {
  const Shape& shape = tensor_of(self).shape();
  // The end of an iteration: cheaper than an exception from the engine.
  if (!shape.empty() && row >= shape[0]) {
    PyErr_Format(PyExc_IndexError, "index %zd is out of range for axis 0 of size %lld", row,
                 static_cast<long long>(shape[0]));
    return nullptr;
  }
  try {
    const PythonSourceScope source;
    const Index index(static_cast<std::int64_t>(row));
    return wrap(get_item(tensor_of(self), std::span(&index, 1)));
  } catch (...) {
    return set_exception();
  }
}

int set_item_object(PyObject* self, PyObject* key, PyObject* value) noexcept {
  try {
    if (value == nullptr) raise(PyExc_TypeError, "cannot delete elements of a tensor");
    const PythonSourceScope source;
    const std::vector<Index> index = index_list(key);
    const Tensor x = tensor_of(self);
    Tensor operand;  // of the value, where that is no number
    std::optional<Scalar> number;
    if (is_tensor(value)) {
      operand = tensor_of(value);
    } else if (number = to_scalar(value); !number) {
      // Plain lists take the precision of the target; an array has a dtype of its own.
      const bool weak =
          (PyList_Check(value) || PyTuple_Check(value)) && (is_floating(x.dtype()) || is_complex(x.dtype()));
      operand = as_tensor(value, weak ? std::optional(x.dtype()) : std::nullopt);
    }
    const MayBlock may_block;  // as in get_item_object
    tensor_of(self) = set_item(x, index, number ? Operand(*number) : Operand(operand));
    return 0;
  } catch (...) {
    set_exception();
    return -1;
  }
}

}  // namespace lento::python

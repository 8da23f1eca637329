#include "tensor_type.h"
#include "python/tensor_type.calls.gen.h"

#include "arguments.h"
#include "convert.h"
#include "creation.h"
#include "gil.h"
#include "source.h"
#include "waiting.h"

#include <lento/eval.h>
#include <lento/print.h>

#include "base/format.h"

#include <structmember.h>

#include <array>
#include <cstddef>
#include <new>
#include <source_location>
#include <string>
#include <vector>

namespace lento::python {

PyTypeObject* tensor_type = nullptr;

namespace {

// Objects of dropped tensors, kept for the next ones: in a loop every op makes one and drops one. Guarded by the GIL.
constexpr std::size_t kFreeObjects = 256;
std::array<TensorObject*, kFreeObjects> free_objects;
std::size_t free_count = 0;

void tensor_dealloc(PyObject* self) {
  auto* object = reinterpret_cast<TensorObject*>(self);
  if (object->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  object->tensor.~Tensor();
  // Objects in the free list keep the reference that each instance has on its heap type.
  if (free_count < kFreeObjects) {
    free_objects[free_count++] = object;
    return;
  }
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

Py_hash_t tensor_hash(PyObject* self) {
  const auto bits = reinterpret_cast<std::uintptr_t>(self);
  const auto hash = static_cast<Py_hash_t>(bits >> 4 | bits << (8 * sizeof(bits) - 4));
  return hash == -1 ? -2 : hash;
}

/// repr() and str(); what there is to wait for is waited for without the GIL.
template <std::string (*text_of)(const Tensor&, std::source_location)>
PyObject* print(PyObject* self) {
  try {
    const SourceScope source(current_source());
    const Tensor tensor = tensor_of(self);
    std::string text;
    {
      const WithoutGil without_gil;
      text = text_of(tensor, std::source_location());
    }
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  } catch (...) {
    return set_exception();
  }
}

Py_ssize_t tensor_length(PyObject* self) {
  const Shape& shape = tensor_of(self).shape();
  if (shape.empty()) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    add_place();
    return -1;
  }
  return static_cast<Py_ssize_t>(shape[0]);
}

// torch.Tensor(values) is a habit.
PyObject* tensor_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError,
                  "Tensor(): tensors are made by functions; use lento.asarray(values), lento.zeros(shape)");
  add_place();
  return nullptr;
}

PyObject* tensor_iter(PyObject* self) {
  if (tensor_of(self).shape().empty()) {
    PyErr_SetString(PyExc_TypeError, "iteration over a 0-d tensor");
    add_place();
    return nullptr;
  }
  return PySeqIter_New(self);
}

int tensor_contains(PyObject* self, PyObject* item) {
  try {
    const Source line = current_source();
    const SourceScope source(line);
    before_recording("in", line, self, item);
    if (is_tensor(item))
      return read_scalar(lento::any(lento::equal(tensor_of(self), tensor_of(item)))).to<bool>() ? 1 : 0;
    const auto number = to_scalar(item);
    // Where any element equals, broadcast, as in NumPy: [1, 2] in x looks for 1s and 2s in their columns.
    if (!number && (PyList_Check(item) || PyTuple_Check(item) || is_numpy_array(item))) {
      const Tensor other = as_tensor(item, std::nullopt, tensor_of(self).device());
      return read_scalar(lento::any(lento::equal(tensor_of(self), other))).to<bool>() ? 1 : 0;
    }
    if (!number) return 0;
    return read_scalar(lento::any(lento::equal(tensor_of(self), *number))).to<bool>() ? 1 : 0;
  } catch (...) {
    set_exception();
    return -1;
  }
}

// Runs a getter that records, with the calling line set.
template <class F>
PyObject* getter(const char* name, PyObject* self, F&& body) noexcept {
  try {
    const Source line = current_source();
    const SourceScope source(line);
    before_recording(name, line, self);
    return body();
  } catch (...) {
    return set_exception();
  }
}

PyObject* get_shape(PyObject* self, void*) { return from_ints(tensor_of(self).shape()); }
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLongLong(tensor_of(self).ndim()); }

// An int that can be called, for x.size(): lento._familiar.Size.
PyTypeObject* size_class = nullptr;

PyObject* make_size(const Shape& extents) {
  static PyObject* const shape_name = PyUnicode_InternFromString("_shape");
  PyRef count(PyLong_FromLongLong(element_count(extents)));
  if (!count || size_class == nullptr) return count.release();
  const PyRef arguments(PyTuple_Pack(1, count.get()));
  const PyRef shape(from_ints(extents));
  PyRef made(arguments ? PyLong_Type.tp_new(size_class, arguments.get(), nullptr) : nullptr);
  if (!made || !shape || PyObject_SetAttr(made.get(), shape_name, shape.get()) < 0) return nullptr;
  return made.release();
}

// They cost ten times as much as a plain int, so those of the last shapes are kept. Guarded by the GIL.
PyObject* get_size(PyObject* self, void*) {
  struct Kept {
    Shape shape;
    PyRef size;
  };
  static auto* const kept = new std::array<Kept, 64>;
  const Shape& shape = tensor_of(self).shape();
  std::size_t place = shape.size();
  for (const std::int64_t extent : shape) place = place * 31 + static_cast<std::size_t>(extent);
  auto& [last_shape, size] = (*kept)[(place ^ place >> 6) % kept->size()];
  if (!size || last_shape != shape) {
    PyRef made(make_size(shape));
    if (!made) return nullptr;
    last_shape = shape;
    size = std::move(made);
  }
  return Py_NewRef(size.get());
}

PyObject* set_size_class(PyObject* /*module*/, PyObject* type) {
  if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), &PyLong_Type)) {
    PyErr_SetString(PyExc_TypeError, "the class of sizes is a kind of int");
    return nullptr;
  }
  size_class = reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"_set_size_class", set_size_class, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyObject* get_dtype(PyObject* self, void*) { return from_dtype(tensor_of(self).dtype()); }
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromSize_t(tensor_of(self).itemsize()); }
PyObject* get_nbytes(PyObject* self, void*) { return PyLong_FromSize_t(tensor_of(self).nbytes()); }
PyObject* get_id(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(tensor_of(self).id()); }
PyObject* get_is_pending(PyObject* self, void*) { return PyBool_FromLong(tensor_of(self).is_pending() ? 1 : 0); }

PyObject* get_device(PyObject* self, void*) {
  return getter("device", self, [&] { return from_device(tensor_of(self).device()); });
}

PyObject* get_transposed(PyObject* self, void*) {
  return getter("T", self, [&] { return wrap(tensor_of(self).T()); });
}
PyObject* get_matrix_transposed(PyObject* self, void*) {
  return getter("mT", self, [&] { return wrap(tensor_of(self).mT()); });
}
PyObject* get_real(PyObject* self, void*) {
  return getter("real", self,
                [&] { return is_complex(tensor_of(self).dtype()) ? wrap(tensor_of(self).real()) : Py_NewRef(self); });
}
PyObject* get_imag(PyObject* self, void*) {
  return getter("imag", self, [&] { return wrap(tensor_of(self).imag()); });
}

PyGetSetDef attributes[] = {
    {"shape", get_shape, nullptr, "The extents, outermost first, as a tuple.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of axes.", nullptr},
    {"size", get_size, nullptr, "The number of elements.", nullptr},
    {"dtype", get_dtype, nullptr, "The element type, such as lento.float32.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"device", get_device, nullptr, "Where the tensor lives.", nullptr},
    {"id", get_id, nullptr, "A number that no other value of this process has.", nullptr},
    {"is_pending", get_is_pending, nullptr, "True while the value has not been computed.", nullptr},
    {"T", get_transposed, nullptr, "The tensor with its axes in reverse order.", nullptr},
    {"mT", get_matrix_transposed, nullptr, "The tensor with its last two axes swapped.", nullptr},
    {"real", get_real, nullptr, "The real parts.", nullptr},
    {"imag", get_imag, nullptr, "The imaginary parts; zeros of a real tensor.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

const char* const kDoc =
    "A tensor: a handle on a value that is pending, ready or failed.\n\n"
    "Operations return at once and record what is to be computed; reading a value (float(x), x.numpy(), print(x)) "
    "computes it.\n"
    "Make one with lento.asarray or a creation function.";

}  // namespace

PyObject* wrap(Tensor tensor) {
  TensorObject* object = nullptr;
  if (free_count > 0) {
    object = free_objects[--free_count];
#ifdef Py_TRACE_REFS
    _Py_NewReference(reinterpret_cast<PyObject*>(object));
#else
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(object), 1);
#endif
  } else {
    object = PyObject_New(TensorObject, tensor_type);
    if (object == nullptr) throw PythonError{};
  }
  new (&object->tensor) Tensor(std::move(tensor));
  object->weakrefs = nullptr;
  return reinterpret_cast<PyObject*>(object);
}

PyObject* wrap(bool value) { return PyBool_FromLong(value ? 1 : 0); }
PyObject* wrap(std::int64_t value) { return checked(PyLong_FromLongLong(value)); }
PyObject* wrap(const Ints& values) { return checked(from_ints(values)); }
PyObject* wrap(DType dtype) { return from_dtype(dtype); }

Scalar read_scalar(const Tensor& tensor) {
  const Tensor held = tensor;  // another thread may rebind the handle while the GIL is released
  const WithoutGil without_gil;
  return held.item_scalar();
}

const void* read_data(const Tensor& tensor) {
  const WithoutGil without_gil;
  return tensor.data_pointer();
}

void add_tensor_type(PyObject* module) {
  std::vector<PyType_Slot> slots = {
      {Py_tp_new, reinterpret_cast<void*>(tensor_new)},
      {Py_tp_dealloc, reinterpret_cast<void*>(tensor_dealloc)},
      {Py_tp_hash, reinterpret_cast<void*>(tensor_hash)},
      {Py_tp_repr, reinterpret_cast<void*>(print<array_repr>)},
      {Py_tp_str, reinterpret_cast<void*>(print<array_str>)},
      {Py_tp_iter, reinterpret_cast<void*>(tensor_iter)},
      {Py_tp_doc, const_cast<char*>(kDoc)},
      {Py_tp_getset, attributes},
      {Py_tp_members, members},
      {Py_tp_methods, reading_methods},
      {Py_sq_item, reinterpret_cast<void*>(get_row)},
      {Py_sq_contains, reinterpret_cast<void*>(tensor_contains)},
      {Py_mp_length, reinterpret_cast<void*>(tensor_length)},
      {Py_sq_length, reinterpret_cast<void*>(tensor_length)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
      {Py_mp_subscript, reinterpret_cast<void*>(get_item_object)},
      {Py_mp_ass_subscript, reinterpret_cast<void*>(set_item_object)},
  };
  const auto operators = operator_slots();
  slots.insert(slots.end(), operators.begin(), operators.end());
  slots.push_back({0, nullptr});
  PyType_Spec spec = {
      .name = "lento.Tensor",
      .basicsize = sizeof(TensorObject),
      .itemsize = 0,
      .flags = Py_TPFLAGS_DEFAULT,
      .slots = slots.data(),
  };
  PyObject* type = checked(PyType_FromSpec(&spec));
  tensor_type = reinterpret_cast<PyTypeObject*>(type);
  // NumPy's operators leave a Tensor on the right to the Tensor: array * x is x's business, and a tensor. Not by
  // __array_ufunc__ = None, which would also forbid np.exp(x).
  const PyRef priority = own(PyFloat_FromDouble(1000));
  if (PyObject_SetAttrString(type, "__array_priority__", priority.get()) < 0) throw PythonError{};
  if (PyModule_AddObjectRef(module, "Tensor", type) < 0 || PyModule_AddFunctions(module, functions) < 0)
    throw PythonError{};
}

}  // namespace lento::python

// lento.Tensor as a CPython heap type. Not a nanobind class: an operator on it must cost nanoseconds, so the number
// slots are written by hand and objects come from a free list.
#pragma once

#include "errors.h"

#include <lento/scalar.h>
#include <lento/tensor.h>

#include <span>

namespace lento::python {

struct TensorObject {
  PyObject_HEAD Tensor tensor;  ///< the handle; rebound by in-place operators and item assignment
  PyObject* weakrefs;           ///< list of weak references, managed by CPython
};

/// The type; set once by add_tensor_type. Final (no subclasses), so that a pointer comparison is the whole type check.
extern PyTypeObject* tensor_type;

inline bool is_tensor(PyObject* object) { return Py_TYPE(object) == tensor_type; }

/// The handle inside a Tensor object.
inline Tensor& tensor_of(PyObject* object) { return reinterpret_cast<TensorObject*>(object)->tensor; }

/// The one element of a tensor of size 1; evaluates it with the GIL released.
Scalar read_scalar(const Tensor& tensor);

/// The elements of a tensor, row-major; evaluates it with the GIL released. Valid while `tensor` is.
const void* read_data(const Tensor& tensor);

/// Makes the type and adds it to `module` as "Tensor". Throws PythonError.
void add_tensor_type(PyObject* module);

// The parts of the type, each in a file of its own: tables of slots, methods and attributes for PyType_FromSpec.

std::span<const PyType_Slot> operator_slots();                      ///< operators.cpp: number protocol and comparisons
PyObject* get_item_object(PyObject* self, PyObject* key) noexcept;  ///< subscripts.cpp
int set_item_object(PyObject* self, PyObject* key, PyObject* value) noexcept;  ///< subscripts.cpp
PyObject* get_row(PyObject* self, Py_ssize_t row) noexcept;                    ///< subscripts.cpp
PyObject* fill_method(PyObject* self, PyObject* value) noexcept;               ///< subscripts.cpp
int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept;           ///< buffer.cpp
void release_buffer(PyObject* self, Py_buffer* view) noexcept;                 ///< buffer.cpp
/// For __array__: raises again what broke off get_buffer of this tensor in the same call from Python, if that happened.
bool raise_interruption(PyObject* tensor);
PyObject* format_method(PyObject* self, PyObject* spec) noexcept;                          ///< formatting.cpp
PyObject* html_method(PyObject* self, PyObject* unused) noexcept;                          ///< formatting.cpp
PyObject* round_method(PyObject* self, PyObject* const* args, Py_ssize_t count) noexcept;  ///< formatting.cpp
extern PyMethodDef reading_methods[];  ///< reading.cpp: numpy(), tolist(), …

}  // namespace lento::python

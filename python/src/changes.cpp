#include "changes.h"

#include "arguments.h"
#include "errors.h"

namespace nb = nanobind;

namespace lento::python {

constinit thread_local PyObject* change_notes = nullptr;

void note_change_of(PyObject* tensor) {
  const PyRef key(checked(PyLong_FromVoidPtr(tensor)));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(change_notes); ++i) {
    PyObject* notes = PyList_GET_ITEM(change_notes, i);
    const int known = PyDict_Contains(notes, key.get());
    if (known < 0) throw PythonError{};
    if (known > 0) continue;
    const PyRef before(checked(wrap(tensor_of(tensor))));
    const PyRef both(PyTuple_Pack(2, tensor, before.get()));
    if (!both || PyDict_SetItem(notes, key.get(), both.get()) < 0) throw PythonError{};
  }
}

namespace {

/// From now on `notes` gets an entry (tensor, value before) for each Tensor object that this thread changes.
void begin_notes(const nb::dict& notes) {
  if (change_notes == nullptr) change_notes = PyList_New(0);
  if (change_notes == nullptr || PyList_Append(change_notes, notes.ptr()) < 0) throw nb::python_error();
}

/// Ends the innermost notes. What nobody else holds any more was the function's own and is forgotten.
void end_notes() {
  if (change_notes == nullptr) raise(PyExc_ValueError, "nobody notes changes");
  const Py_ssize_t last = PyList_GET_SIZE(change_notes) - 1;
  const auto notes = nb::borrow<nb::dict>(PyList_GET_ITEM(change_notes, last));
  if (last == 0) {
    Py_CLEAR(change_notes);
  } else if (PyList_SetSlice(change_notes, last, last + 1, nullptr) < 0) {
    throw nb::python_error();
  }
  const nb::list keys = notes.keys();
  for (const nb::handle key : keys) {
    PyObject* tensor = PyTuple_GET_ITEM(PyDict_GetItem(notes.ptr(), key.ptr()), 0);
    if (Py_REFCNT(tensor) == 1 && PyDict_DelItem(notes.ptr(), key.ptr()) < 0) throw nb::python_error();
  }
}

/// Gives a Tensor object another object's value, whatever its shape; nothing is recorded.
void rebind(const nb::object& tensor, const nb::object& value) {
  if (!is_tensor(tensor.ptr()) || !is_tensor(value.ptr())) raise(PyExc_TypeError, "both must be tensors");
  note_change(tensor.ptr());
  tensor_of(tensor.ptr()) = tensor_of(value.ptr());
}

}  // namespace

void bind_changes(nb::module_& module) {
  module.def("_begin_notes_of_changes", &begin_notes, nb::arg("notes"));
  module.def("_end_notes_of_changes", &end_notes);
  module.def("_rebind", &rebind, nb::arg("tensor"), nb::arg("value"));
}

}  // namespace lento::python

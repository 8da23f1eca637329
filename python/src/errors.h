// Errors at the border: Lento's error family as Python exception classes, and the translation of C++ exceptions into
// them.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <lento/error.h>

#include <string_view>

namespace lento::python {

/// Thrown by C++ code when a Python exception is already set; the border lets it through unchanged.
struct PythonError {};

/// Makes the exception classes and puts them into `module` (lento._core). False with an exception set on failure.
bool add_errors(PyObject* module);

/// Sets the Python exception for the C++ exception being handled. Call it inside a catch block; returns null.
PyObject* set_exception() noexcept;

/// The Python class raised for errors of this kind (borrowed).
PyObject* exception_class(ErrorKind kind);

/// lento.SyncWarning and lento.AssignmentWarning (borrowed).
PyObject* sync_warning_class();
PyObject* assignment_warning_class();

/// Throws PythonError when `object` is null (a failed C API call); else returns it.
inline PyObject* checked(PyObject* object) {
  if (object == nullptr) throw PythonError{};
  return object;
}

/// Adds the calling Python line to the exception that is set, `…, at train.py:41`, unless it has one: what user code
/// raised, and what is no TypeError, ValueError or the like, is left alone.
void add_place() noexcept;

/// Sets `type` with a printf-style message and the calling line, and throws PythonError.
template <class... Args>
[[noreturn]] void raise(PyObject* type, const char* format, Args... args) {
  PyErr_Format(type, format, args...);
  add_place();
  throw PythonError{};
}

/// Lento's own classes of errors, and those of Python's that functions of Lento raise for wrong arguments.
bool is_own_kind(PyObject* type);

/// Whether a message ends with `, at train.py:41`.
bool has_place(std::string_view message);

/// An owned reference.
class PyRef {
 public:
  PyRef() = default;
  explicit PyRef(PyObject* owned) : object_(owned) {}
  PyRef(PyRef&& other) noexcept : object_(other.release()) {}
  PyRef& operator=(PyRef&& other) noexcept {
    PyObject* old = object_;
    object_ = other.release();
    Py_XDECREF(old);
    return *this;
  }
  PyRef(const PyRef&) = delete;
  ~PyRef() { Py_XDECREF(object_); }

  static PyRef borrow(PyObject* object) { return PyRef(Py_XNewRef(object)); }

  PyObject* get() const { return object_; }
  PyObject* release() {
    PyObject* object = object_;
    object_ = nullptr;
    return object;
  }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// An owned reference to the result of a C API call; throws PythonError when that failed.
inline PyRef own(PyObject* object) { return PyRef(checked(object)); }

}  // namespace lento::python

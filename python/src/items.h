// The elements of Python's lists and tuples while Python code may run in between: an element's __index__ may clear the
// list it stands in.
#pragma once

#include "errors.h"

namespace lento::python {

/// The elements of a list or tuple, one strong reference at a time. Every element is checked against the length the
/// sequence had at first; one that changed its length meanwhile raises RuntimeError, as dicts do.
class Items {
 public:
  /// `sequence` must be a list or a tuple; anything else iterable is made a list first.
  explicit Items(PyObject* sequence)
      : sequence_(own(PySequence_Fast(sequence, "expected a sequence"))),
        size_(PySequence_Fast_GET_SIZE(sequence_.get())) {}

  Py_ssize_t size() const { return size_; }

  /// `index` must be below size().
  PyRef operator[](Py_ssize_t index) const {
    if (PySequence_Fast_GET_SIZE(sequence_.get()) != size_)
      raise(PyExc_RuntimeError, "the list changed its length while it was read");
    return PyRef::borrow(PySequence_Fast_GET_ITEM(sequence_.get(), index));
  }

 private:
  PyRef sequence_;
  Py_ssize_t size_;
};

/// Counts one level of recursion. Throws PythonError, with RecursionError set, where a structure is nested too deeply:
/// a list that contains itself.
class Recursion {
 public:
  explicit Recursion(const char* where) {
    if (Py_EnterRecursiveCall(where) != 0) throw PythonError{};
  }
  ~Recursion() { Py_LeaveRecursiveCall(); }
  Recursion(const Recursion&) = delete;
  Recursion& operator=(const Recursion&) = delete;
};

}  // namespace lento::python

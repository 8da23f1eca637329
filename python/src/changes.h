// What a function changes in place, remembered: a checkpoint calls it twice, and the second time must find the tensors
// as the first did and leave them as they are.
#pragma once

#include "tensor_type.h"

#include <nanobind/nanobind.h>

namespace lento::python {

/// The list of dicts that note the calling thread's changes; null when nobody does. Owned.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local PyObject* change_notes;

/// Adds a tensor and its value to each dict that has no earlier one. Throws PythonError.
void note_change_of(PyObject* tensor);

/// Must be called before a Tensor object gets another value.
inline void note_change(PyObject* tensor) {
  if (change_notes != nullptr) [[unlikely]]
    note_change_of(tensor);
}

void bind_changes(nanobind::module_& module);

}  // namespace lento::python

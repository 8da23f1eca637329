// Makes tables of exported functions visible in Python.
#pragma once

#include "arguments.h"

#include <span>

namespace lento::python {

/// Adds each entry to its namespace (`module` itself for "lento", a submodule of it for "linalg" and the like) or to
/// the Tensor type. Throws PythonError.
void add_functions(PyObject* module, std::span<const Export> exports);

/// Adds everything that the generator wrote.
void add_generated_functions(PyObject* module);

}  // namespace lento::python

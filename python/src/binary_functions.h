// Functions of two operands, which have NumPy's methods: lento.subtract.outer(x, y).
#pragma once

#include "arguments.h"

namespace lento::python {

/// Whether a function of the catalogue is one of those that are ufuncs of two operands in NumPy.
bool is_binary_function(std::string_view name);

/// A function object: called like any other, and `outer`, `reduce`, `accumulate`, `reduceat` and `at` are looked up in
/// lento._binary. `entry` must live for ever. Throws PythonError.
PyObject* make_binary_function(const Export& entry);

/// Adds its type to `module` as "BinaryFunction". Throws PythonError.
void add_binary_function_type(PyObject* module);

}  // namespace lento::python

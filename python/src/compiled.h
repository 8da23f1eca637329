// lento.compile's callable (clauses F1 to F5): what is known of a call is run from here, everything else is Python's.
#pragma once

#include <nanobind/nanobind.h>

namespace lento::python {

void add_compiled_type(PyObject* module);

}  // namespace lento::python

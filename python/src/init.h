// lento.nn.init: initial values of weights.
#pragma once

#include "errors.h"

namespace lento::python {

/// Puts the functions into `module` as its attribute "nn.init". Throws PythonError.
void add_init(PyObject* module);

}  // namespace lento::python

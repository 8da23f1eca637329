// What the Array API standard asks of the array object besides operators: `__array_namespace__` and `to_device`.
#pragma once

#include "errors.h"

namespace lento::python {

void add_array_api(PyObject* module);

}  // namespace lento::python

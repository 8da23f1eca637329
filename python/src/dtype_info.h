// Questions about dtypes and shapes: what lento/_dtypes.py asks the engine.
#pragma once

#include <nanobind/nanobind.h>

namespace lento::python {

void bind_dtype_info(nanobind::module_& module);

}  // namespace lento::python

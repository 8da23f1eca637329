// lento.options, and what options(sync="warn") does in Python.
#pragma once

#include <nanobind/nanobind.h>

namespace lento::python {

void bind_options(nanobind::module_& module);

}  // namespace lento::python

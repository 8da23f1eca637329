// lento.save and lento.load.
#pragma once

#include <nanobind/nanobind.h>

namespace lento::python {

void bind_files(nanobind::module_& module);

}  // namespace lento::python

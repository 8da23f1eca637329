// Derivatives: what lento._autograd is made of.
#pragma once

#include <nanobind/nanobind.h>

namespace lento::python {

void bind_autograd(nanobind::module_& module);

}  // namespace lento::python

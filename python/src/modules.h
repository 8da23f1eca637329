// lento.nn.Module in C: its call, and the tensors inside of it, which each gradient and each step of an optimizer asks
// for. The class itself is in Python.
#pragma once

#include <nanobind/nanobind.h>

namespace lento::python {

void bind_modules(nanobind::module_& module);

}  // namespace lento::python

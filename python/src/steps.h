// step, wait and step closures for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>

namespace lento::python {

void bind_steps(nanobind::module_& module);

/// Sets RuntimeError with the closure's own exception as its cause.
void set_closure_error(const char* message, const std::exception_ptr& cause);

}  // namespace lento::python

// The devices null, gated and faulty for tests and benchmarks in Python.
#pragma once

#include <nanobind/nanobind.h>

namespace lento::python {

void bind_testing(nanobind::module_& module);

}  // namespace lento::python

// Looking at what the engine does, by theme: each function is in the file of its name.
#pragma once

#include <nanobind/nanobind.h>

namespace lento::python {

void bind_graphs(nanobind::module_& module);
void bind_cache(nanobind::module_& module);
void bind_metrics(nanobind::module_& module);
void bind_resources(nanobind::module_& module);

}  // namespace lento::python

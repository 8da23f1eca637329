// Looking at what the engine does: dumps, the plan cache, counters and timings, explanations, memory.
#pragma once

#include <lento/tensor.h>

#include <nanobind/nanobind.h>

#include <vector>

namespace lento::python {

void bind_observation(nanobind::module_& module);

/// The tensors in a tensor or in lists and tuples of them, in order; `function` is whose argument it is.
void collect_tensors(PyObject* object, const char* function, std::vector<Tensor>& tensors);

}  // namespace lento::python

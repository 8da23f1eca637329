// Trees of tensors in C: lento.tree does here what it does for every call of grad, vmap and an optimizer.
#pragma once

#include <nanobind/nanobind.h>

namespace lento::python {

void bind_trees(nanobind::module_& module);

}  // namespace lento::python

// Steps of optimizers, and clipping of gradients, over whole lists of tensors: one call from Python each.
#pragma once

#include <nanobind/nanobind.h>

namespace lento::python {

void bind_optim(nanobind::module_& module);

}  // namespace lento::python

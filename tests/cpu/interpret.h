// The specification of kernels, element by element: what generated code must compute, bit by bit.
#pragma once

#include "compiler/kernel.h"

namespace lento::testing {

/// Does the whole iteration space with the reference backend's loops and order.
void interpret(const Kernel& kernel, const KernelArguments& arguments);

}  // namespace lento::testing

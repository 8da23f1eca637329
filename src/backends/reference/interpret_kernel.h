// The specification of kernels, element by element: what generated code must compute, bit by bit.
#pragma once

#include "base/function_ref.h"
#include "compiler/kernel.h"

#include <cstddef>
#include <cstdint>

namespace lento::reference {

/// Does the whole iteration space with the reference backend's loops and order. `missing` is told of each position that
/// does not exist, and of the operand whose row it picks; row 0 is read then. Without it, positions are in range.
void interpret(const Kernel& kernel, const KernelArguments& arguments,
               const FunctionRef<void(std::size_t operand, std::int64_t position)>* missing = nullptr);

}  // namespace lento::reference

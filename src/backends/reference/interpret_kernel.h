// The specification of kernels, element by element: what generated code must compute, bit by bit.
#pragma once

#include "backend/status_words.h"
#include "compiler/kernel.h"

namespace lento::reference {

/// Does the whole iteration space with the reference backend's loops and order. With status words, one per operand,
/// each position that does not exist is told in that of the operand whose row it picks, and row 0 is read. Without
/// them, positions are in range.
void interpret(const Kernel& kernel, const KernelArguments& arguments, StatusWord* words = nullptr);

}  // namespace lento::reference

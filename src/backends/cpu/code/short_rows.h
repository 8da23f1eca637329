// Rows of a few elements, side by side in the lanes of vectors: a kernel that goes over one row after the other fills a
// part of a vector with each, and pays for the combination of its lanes. So as many rows as there are lanes are turned
// in registers and worked on as columns are, element after element. The bits are the same: the order of a reduction
// depends on the number of its elements alone.
#pragma once

#include "backends/cpu/code/kernel_loops.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace lento::cpu {

/// Whether code for short rows pays, if a call has such.
bool has_short_rows(const Kernel& kernel);

/// Writes loops over vectors of rows, for calls whose rows are short. Returns the row from which on all is left to do.
llvm::Value* write_short_rows(llvm::IRBuilderBase& builder, const Kernel& kernel, const CodeStyle& style,
                              llvm::Value* frame);

}  // namespace lento::cpu

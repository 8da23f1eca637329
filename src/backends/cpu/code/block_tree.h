// The tree over the blocks of a long reduction, as generated code fills it (ir/reduction_order.h). Nothing here needs
// the names of ops, so that code for another processor has the same tree (tests/isa).
#pragma once

#include <lento/dtype.h>

#include "ir/op_number.h"

#include <cstddef>

namespace lento::cpu {

/// Bytes of a BlockTree whose blocks have `row_bytes` of values; it starts as zeros in its first 8 bytes.
std::size_t block_tree_bytes(std::size_t row_bytes);

/// The functions behind push_block_symbol and finish_blocks_symbol (loop_symbols.h); null for what is no such
/// reduction.
void* push_block_function(Op reduction, DType accumulator);
void* finish_blocks_function(Op reduction, DType accumulator);

}  // namespace lento::cpu

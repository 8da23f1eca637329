// Functions of this library that generated code calls, by the names under which object code refers to them, so that
// object code is good in another process.
#pragma once

#include <lento/dtype.h>

#include "ir/op_number.h"

#include <string>
#include <string_view>

namespace lento::cpu {

/// The reference backend's loop for an elementwise op: see ElementwiseLoop.
std::string loop_symbol(Op op, DType dtype);

/// void(BlockTree* tree, const void* values, int64 width): hands over the values of the next block of `width`
/// reductions that run side by side, in the accumulator's dtype.
std::string push_block_symbol(Op reduction, DType accumulator);
/// void(BlockTree* tree, void* values, int64 width): the combination of all blocks, in the order of
/// reduction_order.h; the tree is empty afterwards.
std::string finish_blocks_symbol(Op reduction, DType accumulator);

/// The address behind a name of the above kinds; null when there is none.
void* find_symbol(std::string_view name);

}  // namespace lento::cpu

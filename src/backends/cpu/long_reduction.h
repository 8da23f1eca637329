// Reductions so long, and so few, that several threads work on each of them. The order of reduction_order.h is a tree
// over blocks: a part of 2^k blocks is a branch of it, so parts can be reduced apart and their results combined by the
// rest of the tree, with the same bits as in one go.
#pragma once

#include "backends/cpu/code/jit.h"
#include "backends/cpu/threads.h"
#include "compiler/kernel.h"

#include <cstdint>
#include <span>

namespace lento::cpu {

/// Does all of a kernel that reduces, pass by pass, each pass in parts of `part_blocks` blocks, a power of two, on
/// several threads. `run` runs a part of the kernel. `sizes` are those of its dimensions.
void reduce_in_parts(const Kernel& kernel, std::span<const std::int64_t> sizes, std::int64_t part_blocks,
                     FunctionRef<void(const KernelPart&)> run);

}  // namespace lento::cpu

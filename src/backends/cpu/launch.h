// launch: runs a kernel over its whole iteration space, cut into parts for the threads.
#pragma once

#include "backends/cpu/code/kernel_cache.h"
#include "compiler/kernel.h"

#include <cstdint>
#include <span>

namespace lento::cpu {

/// A vector instruction does an element in about this time, everything counted.
inline constexpr double kNanosecondsPerInstruction = 0.06;
/// What is worth handing to another thread, in elements times instructions: some 10 µs.
inline constexpr double kGrain = 10'000 / kNanosecondsPerInstruction;

/// Notes a use of code for this much work: a kernel that runs for 3 ms is worth better code at once.
void note_work(CachedKernel& code, double cost);

/// Does every point. `sizes` are those of the arguments, `cost` is elements times instructions. Counts as a use of the
/// code.
void launch(const Kernel& kernel, CachedKernel& code, const KernelArguments& arguments,
            std::span<const std::int64_t> sizes, double cost);

}  // namespace lento::cpu

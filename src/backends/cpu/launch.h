// launch: runs a kernel over its whole iteration space, cut into parts for the threads.
#pragma once

#include "backend/driver.h"
#include "backends/cpu/code/kernel_cache.h"

namespace lento::cpu {

/// A vector instruction does an element in about this time, everything counted.
inline constexpr double kNanosecondsPerInstruction = 0.06;
/// What is worth handing to another thread, in elements times instructions: some 10 µs.
inline constexpr double kGrain = 10'000 / kNanosecondsPerInstruction;

/// The code of a launch on this device.
inline CachedKernel& code_of(const KernelLaunch& launch) { return static_cast<CachedKernel&>(*launch.binary); }
/// Notes a use of code for this much work: a kernel that runs for 3 ms is worth better code at once.
void note_work(CachedKernel& code, double cost);

/// Does every point. Counts as a use of the code.
void launch(const KernelLaunch& launch);

}  // namespace lento::cpu

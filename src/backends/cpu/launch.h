// launch: runs a kernel over its whole iteration space, cut into parts for the threads.
#pragma once

#include "backend/code_cache.h"
#include "backend/driver.h"
#include "backends/cpu/code/jit.h"

namespace lento::cpu {

/// A vector instruction does an element in about this time, everything counted.
inline constexpr double kNanosecondsPerInstruction = 0.06;
/// What is worth handing to another thread, in elements times instructions: some 10 µs.
inline constexpr double kGrain = 10'000 / kNanosecondsPerInstruction;

/// The kernel of a launch on this device.
inline CachedKernel& kernel_of(const KernelLaunch& launch) { return static_cast<CachedKernel&>(*launch.binary); }
/// Its code by now. Each part of a launch asks anew, since better code may come meanwhile.
inline const KernelCode& code_of(const CachedKernel& kernel) { return static_cast<const KernelCode&>(kernel.code()); }
inline const KernelCode& code_of(const KernelLaunch& launch) { return code_of(kernel_of(launch)); }
/// Notes a use of a kernel for this much work: one that runs for 3 ms is worth better code at once.
void note_work(CachedKernel& kernel, double cost);

/// Every point.
KernelRange whole_range(const KernelLaunch& launch);
/// Does every point. Counts as a use of the code.
void launch(const KernelLaunch& launch);

}  // namespace lento::cpu

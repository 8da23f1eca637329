// launch_batch: runs kernels that have nothing to do with each other (compiler/batches.h).
#pragma once

#include "backend/driver.h"

#include <span>

namespace lento::cpu {

/// Does every point of every kernel, on several threads where that pays: the batch is cut by work, not by kernels.
/// Counts as a use of every code.
void launch_batch(std::span<const KernelLaunch> launches);

}  // namespace lento::cpu

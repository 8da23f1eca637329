// launch_chain: runs the kernels of a chain tile by tile (compiler/chains.h).
#pragma once

#include "backend/driver.h"
#include "compiler/chains.h"

#include <span>

namespace lento::cpu {

/// Does all elements, on several threads, each of which has memory for its tile. Counts as a use of every code.
void launch_chain(std::span<const KernelLaunch> launches, std::span<const TileOperand> tile_operands,
                  const Chain& chain);

}  // namespace lento::cpu

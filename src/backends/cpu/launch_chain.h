// launch_chain: runs the kernels of a chain tile by tile (compiler/chains.h).
#pragma once

#include "backends/cpu/code/kernel_cache.h"
#include "compiler/chains.h"
#include "compiler/kernel.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace lento::cpu {

/// An operand that lies in the scratch memory of a tile.
struct TileOperand {
  std::uint32_t operand;
  std::size_t offset;
  std::size_t element_bytes;
};

/// One kernel of a chain.
struct ChainLink {
  CachedKernel* code;
  KernelArguments arguments;  // addresses of operands in the tile are set for each tile
  std::size_t operand_count;
  std::size_t tile_count;  // how many of the chain's tile operands are its own; they stand in the order of links
};

/// Does all elements, on several threads, each of which has memory for its tile. `cost` is elements times
/// instructions. Counts as a use of every code.
void launch_chain(std::span<const ChainLink> links, std::span<const TileOperand> tile_operands, const Chain& chain,
                  std::int64_t elements, double cost);

}  // namespace lento::cpu

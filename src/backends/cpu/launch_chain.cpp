#include "backends/cpu/launch_chain.h"

#include "backends/cpu/arena.h"
#include "backends/cpu/launch.h"
#include "backends/cpu/threads.h"
#include "compiler/chains.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace lento::cpu {

namespace {

/// Does the elements `begin` … `end` tile by tile.
void run_tiles(std::span<const KernelLaunch> launches, std::span<const TileOperand> tile_operands, const Chain& chain,
               std::int64_t begin, std::int64_t end) {
  const Scratch scratch(chain.scratch_bytes);
  std::vector<std::vector<void*>> addresses;
  std::vector<KernelArguments> arguments;
  for (const KernelLaunch& launch : launches) {
    const auto& given = launch.arguments;
    addresses.emplace_back(given.addresses, given.addresses + launch.kernel->operands.size());
    arguments.push_back(given);
    arguments.back().addresses = addresses.back().data();
  }
  for (std::int64_t tile = begin; tile < end; tile += chain.tile) {
    const TileOperand* operand = tile_operands.data();
    for (std::size_t k = 0; k < launches.size(); ++k) {
      for (std::size_t i = 0; i < launches[k].tile_count; ++i, ++operand) {
        // The kernel counts elements from the first of the tensor: that one would lie so far before the tile.
        const auto before = static_cast<std::uintptr_t>(tile) * operand->element_bytes;
        const auto address = reinterpret_cast<std::uintptr_t>(scratch.data()) + operand->offset - before;
        addresses[k][operand->operand] = std::bit_cast<void*>(address);
      }
      code_of(launches[k]).run(arguments[k], {0, 1, tile, std::min(tile + chain.tile, end)});
    }
  }
}

}  // namespace

void launch_chain(std::span<const KernelLaunch> launches, std::span<const TileOperand> tile_operands,
                  const Chain& chain) {
  double cost = 0;
  for (const KernelLaunch& launch : launches) cost += launch.cost;
  for (const KernelLaunch& launch : launches) note_work(kernel_of(launch), cost / static_cast<double>(launches.size()));
  const std::int64_t elements = launches[0].sizes[0];
  const double tile_cost = cost / static_cast<double>(elements) * static_cast<double>(chain.tile);
  const std::int64_t grain = std::max<std::int64_t>(1, static_cast<std::int64_t>(kGrain / tile_cost)) * chain.tile;
  parallel_for(elements, grain,
               [&](std::int64_t begin, std::int64_t end) { run_tiles(launches, tile_operands, chain, begin, end); });
}

}  // namespace lento::cpu

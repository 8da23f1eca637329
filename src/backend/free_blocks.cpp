#include "backend/free_blocks.h"

#include <algorithm>
#include <utility>

namespace lento {

void* FreeBlocks::take(std::size_t bytes, bool for_compute) {
  const std::lock_guard lock(mutex_);
  std::vector<Block>& blocks = blocks_[bytes];
  const auto found =
      std::ranges::find_if(blocks, [&](const Block& it) { return for_compute || it.unused_from->done(); });
  if (found == blocks.end()) return nullptr;
  void* const address = found->address;
  blocks.erase(found);
  return address;
}

void FreeBlocks::give(void* address, std::size_t bytes, FenceRef unused_from) {
  const std::lock_guard lock(mutex_);
  blocks_[bytes].push_back({address, std::move(unused_from)});
}

}  // namespace lento

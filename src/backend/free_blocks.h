// FreeBlocks: memory of a device that was freed and will be used again. What was queued before it was freed may still
// use it, which the compute queue does not mind: what comes later runs later there.
#pragma once

#include "base/fence.h"

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

namespace lento {

/// Any thread.
class FreeBlocks {
 public:
  /// A block of exactly this size, or null when there is none. For the compute queue it may be one that is still used.
  void* take(std::size_t bytes, bool for_compute);
  /// `unused_from`: where in the compute queue nothing uses it any more.
  void give(void* address, std::size_t bytes, FenceRef unused_from);

 private:
  struct Block {
    void* address;
    FenceRef unused_from;
  };

  std::mutex mutex_;
  std::map<std::size_t, std::vector<Block>> blocks_;  // by size
};

}  // namespace lento

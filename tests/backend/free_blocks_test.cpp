// Freed memory is used again: by the compute queue at once, by others when nothing uses it any more.
#include "backend/free_blocks.h"

#include "backend/host_fence.h"

#include <gtest/gtest.h>

#include <memory>

namespace lento {
namespace {

TEST(FreeBlocks, D3_MemoryThatIsStillUsedIsForTheComputeQueueAlone) {
  FreeBlocks free;
  int block = 0;
  const auto fence = std::make_shared<HostFence>();
  free.give(&block, 64, fence);
  EXPECT_EQ(free.take(64, false), nullptr) << "a copy does not wait for the compute queue";
  EXPECT_EQ(free.take(64, true), &block);
  free.give(&block, 64, fence);
  fence->reach();
  EXPECT_EQ(free.take(64, false), &block);
  EXPECT_EQ(free.take(64, true), nullptr) << "it is given once";
}

TEST(FreeBlocks, ABlockIsTakenInItsOwnSize) {
  FreeBlocks free;
  int small = 0, large = 0;
  const auto fence = std::make_shared<HostFence>();
  free.give(&small, 64, fence);
  free.give(&large, 128, fence);
  EXPECT_EQ(free.take(256, true), nullptr);
  EXPECT_EQ(free.take(128, true), &large);
  EXPECT_EQ(free.take(128, true), nullptr);
  EXPECT_EQ(free.take(64, true), &small);
}

}  // namespace
}  // namespace lento

// The arena: alignment, reuse, accounts, limits, and many threads at once.
#include "backends/cpu/arena.h"

#include <lento/error.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace lento::cpu {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class ArenaTest : public testing::Test {
 protected:
  std::size_t live() const { return account_.live; }
  std::size_t cached() const { return account_.cached; }

  MemoryAccount account_;
  Arena arena_{account_, 0, 64 * kMiB};
};

std::uintptr_t address(const BufferRef& buffer) { return reinterpret_cast<std::uintptr_t>(buffer->data()); }

TEST_F(ArenaTest, BlocksAreAtMostAQuarterLargerThanAskedFor) {
  std::size_t before = 0;
  for (std::size_t bytes = 0; bytes < 8 * kMiB; bytes += 1 + bytes / 37) {
    const std::size_t size = Arena::block_size(bytes);
    EXPECT_GE(size, bytes);
    EXPECT_GE(size, before);
    EXPECT_EQ(size % 64, 0U);
    EXPECT_LE(size, std::max<std::size_t>(bytes + 64, bytes + bytes / 4 + 64)) << bytes;
    EXPECT_EQ(Arena::block_size(size), size) << bytes;
    before = size;
  }
}

TEST_F(ArenaTest, AlignsToACacheLineAndLargeBlocksToHugePages) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{1000}, std::size_t{300000}}) {
    EXPECT_EQ(address(arena_.allocate(bytes)) % 64, 0U) << bytes;
  }
  for (const std::size_t bytes : {2 * kMiB, 2 * kMiB + 1, 5 * kMiB}) {
    const BufferRef buffer = arena_.allocate(bytes);
    EXPECT_EQ(address(buffer) % (2 * kMiB), 0U) << bytes;
    std::memset(buffer->data(), 1, bytes);
  }
}

TEST_F(ArenaTest, EmptyBuffersHaveAddressesOfTheirOwn) {
  const BufferRef one = arena_.allocate(0);
  const BufferRef other = arena_.allocate(0);
  EXPECT_NE(one->data(), nullptr);
  EXPECT_NE(one->data(), other->data());
}

TEST_F(ArenaTest, ReusesWhatWasFreedLast) {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{100000}, 3 * kMiB}) {
    const std::uintptr_t first = address(arena_.allocate(bytes));
    EXPECT_EQ(address(arena_.allocate(bytes - 1)), first) << bytes;
  }
}

TEST_F(ArenaTest, E9_CountsLiveCachedAndPeakBytes) {
  BufferRef one = arena_.allocate(1000);
  BufferRef two = arena_.allocate(3 * kMiB);
  EXPECT_EQ(live(), 1000 + 3 * kMiB);
  EXPECT_EQ(cached(), 0U);
  one.reset();
  EXPECT_EQ(live(), 3 * kMiB);
  EXPECT_EQ(cached(), Arena::block_size(1000));
  two.reset();
  EXPECT_EQ(live(), 0U);
  EXPECT_EQ(cached(), Arena::block_size(1000) + Arena::block_size(3 * kMiB));
  EXPECT_EQ(account_.peak, 1000 + 3 * kMiB);
  arena_.release_cached();
  EXPECT_EQ(cached(), 0U);
}

TEST_F(ArenaTest, KeepsNoMoreThanItsBoundAndForgetsWhatIsOldest) {
  {
    const BufferRef old = arena_.allocate(10 * kMiB);
  }
  std::vector<BufferRef> buffers;
  for (int i = 0; i < 15; ++i) buffers.push_back(arena_.allocate(4 * kMiB));
  buffers.clear();
  EXPECT_LE(cached(), 64 * kMiB);
  // The 15 blocks used last fill 60 MiB: the older one had to go.
  EXPECT_EQ(cached(), 60 * kMiB);
}

TEST_F(ArenaTest, DoesNotKeepABlockLargerThanItsBound) {
  {
    const BufferRef large = arena_.allocate(100 * kMiB);
  }
  EXPECT_EQ(cached(), 0U);
}

TEST_F(ArenaTest, E9_FreesCachesBeforeItGoesOverTheLimit) {
  account_.limit = 20 * kMiB;
  {
    const BufferRef small = arena_.allocate(8 * kMiB);
  }
  EXPECT_EQ(cached(), 8 * kMiB);
  const BufferRef large = arena_.allocate(16 * kMiB);
  EXPECT_EQ(cached(), 0U);  // 8 + 16 would have been too much
  EXPECT_EQ(live(), 16 * kMiB);
  EXPECT_THROW(arena_.allocate(5 * kMiB), MemoryError);
  EXPECT_EQ(live(), 16 * kMiB);
}

TEST_F(ArenaTest, E9_AskingForMoreThanThereIsRaisesAndCountsNothing) {
  EXPECT_THROW(arena_.allocate(std::size_t{1} << 50), MemoryError);
  EXPECT_THROW(arena_.allocate(~std::size_t{0}), MemoryError);
  EXPECT_EQ(live(), 0U);
  EXPECT_NE(arena_.allocate(10)->data(), nullptr);
}

TEST_F(ArenaTest, E9_ScratchMemoryIsInUseAndReusedAndNoLimitRefusesIt) {
  account_.limit = 1000;
  void* data = arena_.allocate_scratch(5000);
  EXPECT_EQ(live(), 0U) << "a tensor of another run still fits";
  EXPECT_EQ(account_.in_use(), 5000U);
  EXPECT_EQ(account_.peak, 5000U);
  account_.limit = 0;
  arena_.free_scratch(data, 5000);
  EXPECT_EQ(account_.in_use(), 0U);
  EXPECT_EQ(cached(), Arena::block_size(5000));
  EXPECT_EQ(arena_.allocate(5000)->data(), data);
}

#if defined(__SANITIZE_ADDRESS__)
TEST_F(ArenaTest, AddressSanitizerKnowsWhatIsFreeAndWhatIsBehindTheEnd) {
  for (const std::size_t bytes : {std::size_t{1000}, 3 * kMiB - 1}) {
    const BufferRef buffer = arena_.allocate(bytes);
    auto* const data = static_cast<char*>(buffer->data());
    EXPECT_EQ(__asan_region_is_poisoned(data, bytes), nullptr);
    EXPECT_TRUE(__asan_address_is_poisoned(data + bytes));
  }
  void* const freed = arena_.allocate(500)->data();
  EXPECT_TRUE(__asan_address_is_poisoned(freed));
}
#endif

TEST_F(ArenaTest, ManyThreadsNeverShareABlock) {
  // Buffers are made on one thread, written, handed on, checked and freed by another.
  constexpr int kThreads = 4;
  std::vector<std::atomic<Buffer*>> slots(64);
  std::atomic<int> wrong{0};
  const auto check_and_drop = [&](Buffer* raw) {
    if (raw == nullptr) return;
    const BufferRef buffer = BufferRef::adopt(raw);
    const auto* bytes = static_cast<const unsigned char*>(buffer->data());
    const std::size_t size = buffer->size();
    if (size != 0 && (bytes[0] != size % 251 || bytes[size - 1] != size % 251)) ++wrong;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < 4000; ++i) {
        const std::size_t size = random() % (i % 100 == 0 ? 3 * kMiB : 4000);
        BufferRef buffer = arena_.allocate(size);
        auto* bytes = static_cast<unsigned char*>(buffer->data());
        if (size != 0) bytes[0] = bytes[size - 1] = static_cast<unsigned char>(size % 251);
        check_and_drop(slots[random() % slots.size()].exchange(buffer.release()));
        if (i % 500 == 0) arena_.release_cached();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& slot : slots) check_and_drop(slot.exchange(nullptr));
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(live(), 0U);
  EXPECT_LE(cached(), 64 * kMiB);
  arena_.release_cached();
  EXPECT_EQ(cached(), 0U);
}

TEST(CpuMemory, IsChargedToItsDevice) {
  MemoryAccount& account = memory_account(0);
  const std::size_t before = account.live;
  const BufferRef buffer = allocate_cpu(12345, 0);
  EXPECT_EQ(buffer->device(), 0);
  EXPECT_EQ(buffer->size(), 12345U);
  EXPECT_EQ(account.live - before, 12345U);
}

}  // namespace
}  // namespace lento::cpu

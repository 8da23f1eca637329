// A fence that a thread of the host reaches: who waits for it and who listens to it.
#include "backend/host_fence.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace lento {
namespace {

struct Listener final : FenceListener {
  Listener(std::vector<int>& to, int mine) : heard(to), number(mine) {}
  void reached() noexcept override { heard.push_back(number); }
  std::vector<int>& heard;
  const int number;
};

TEST(HostFence, CallsItsListenersInTheOrderInWhichTheyCame) {
  HostFence fence;
  std::vector<int> heard;
  Listener first(heard, 1), second(heard, 2), third(heard, 3);
  fence.then(first);
  fence.then(second);
  EXPECT_EQ(heard, std::vector<int>());
  fence.reach();
  EXPECT_EQ(heard, (std::vector<int>{1, 2}));
  fence.then(third);
  EXPECT_EQ(heard, (std::vector<int>{1, 2, 3})) << "it has been reached, so this one is called at once";
}

TEST(HostFence, IsReachedForWhoWaits) {
  HostFence fence;
  EXPECT_FALSE(fence.done());
  std::thread queue([&fence] { fence.reach(); });
  fence.wait();
  EXPECT_TRUE(fence.done());
  queue.join();
}

TEST(HostFence, ListensToWhoComesWhileItTellsTheOthers) {
  HostFence fence;
  std::vector<int> heard;
  Listener late(heard, 2);
  struct Asking final : FenceListener {
    Asking(HostFence& of, std::vector<int>& to, FenceListener& then) : fence(of), heard(to), late(then) {}
    void reached() noexcept override {
      heard.push_back(1);
      fence.then(late);
    }
    HostFence& fence;
    std::vector<int>& heard;
    FenceListener& late;
  } asking(fence, heard, late);
  fence.then(asking);
  fence.reach();
  EXPECT_EQ(heard, (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace lento

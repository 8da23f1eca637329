// The thread for work that nobody waits for.
#include "backend/background.h"

#include "base/counters.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>

namespace lento::testing {
namespace {

TEST(Background, ATaskThatThrowsIsCountedAndTheNextOneRuns) {
  const std::uint64_t before = counter_value("background.failed");
  std::atomic<bool> ran = false;
  finish_later([] { throw std::runtime_error("a disk that is gone"); });
  finish_later([&] { ran = true; });
  wait_for_urgent_tasks();
  EXPECT_TRUE(ran);
  EXPECT_EQ(counter_value("background.failed"), before + 1);
}

TEST(Background, WhatMustBeDoneOvertakesWhatMayBeDone) {
  std::atomic<bool> may_go = false;
  const auto optional = std::make_shared<std::atomic<int>>(0);  // they may run after the test
  int seen = -1;
  // While the first one waits, the others stand in their queues.
  finish_later([&] { may_go.wait(false); });
  for (int i = 0; i < 3; ++i) run_later([optional] { ++*optional; });
  finish_later([&] { seen = *optional; });
  may_go = true;
  may_go.notify_one();
  wait_for_urgent_tasks();
  EXPECT_EQ(seen, 0);
}

}  // namespace
}  // namespace lento::testing

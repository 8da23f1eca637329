// Step closures: clauses C1 to C6, one test per sentence. The queue of C3 is in closure_queue_test.cpp.
#include <lento/closures.h>
#include <lento/lento.h>

#include "backends/testing/testing.h"
#include "base/interrupt.h"
#include "executor/closures.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <latch>
#include <mutex>
#include <source_location>
#include <string>
#include <thread>
#include <vector>

namespace lento {
namespace {

using testing::gated_device;
namespace gate = testing::gate;

struct Boom : std::runtime_error {
  Boom() : std::runtime_error("boom") {}
};

class Closures : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::register_testing_backends();
    gate::close();
    run_step_closures();  // what another test left
  }
  void TearDown() override {
    gate::open_forever();
    wait_closures();
    gate::close();
    ::unsetenv("LENTO_MAX_ASYNC_QUEUE");
  }
};

std::uint64_t count_of(const char* name) { return metrics::counter(name); }

TEST_F(Closures, C1_RunAfterTheNextStepWithSnapshots) {
  Tensor x = tensor({1.0F}) + 1;
  float seen = 0;
  add_step_closure([&](const std::vector<Tensor>& args) { seen = args[0].item<float>(); }, {x});
  x += 100;
  EXPECT_EQ(seen, 0);
  step();
  EXPECT_EQ(seen, 2.0F);
  seen = 0;
  step();
  EXPECT_EQ(seen, 0);  // once
}

TEST_F(Closures, C1_ArgumentsAreRootsOfTheStep) {
  bool pending = true;
  {
    const Tensor x = tensor({1.0F}) + 1;  // no other handle survives
    add_step_closure([&](const std::vector<Tensor>& args) { pending = args[0].is_pending(); }, {x});
  }
  step();
  EXPECT_FALSE(pending);
}

TEST_F(Closures, C2_SynchronousOnesRunInOrderOnTheSteppingThread) {
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    add_step_closure([&order, i, me = std::this_thread::get_id()](const std::vector<Tensor>&) {
      EXPECT_EQ(std::this_thread::get_id(), me);
      order.push_back(i);
    });
  }
  step();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST_F(Closures, C2_WhatAClosureCallsHasItsOwnFunctionAndLine) {
  std::uint32_t line = 0;
  Tensor made;
  const auto here = [](std::source_location site = std::source_location::current()) { return site.line(); };
  add_step_closure([&](const std::vector<Tensor>& args) { made = exp(args[0]), line = here(); }, {ones({2, 3})});
  step();
  EXPECT_NE(dump({made}).find("closure_test.cpp:" + std::to_string(line)), std::string::npos) << dump({made});
  add_step_closure([&](const std::vector<Tensor>& args) { line = here(), (void)matmul(args[0], args[0]); }, {made});
  try {
    step();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ShapeError& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with("matmul: ")) << text;
    EXPECT_TRUE(text.ends_with("closure_test.cpp:" + std::to_string(line))) << text;
  }
}

TEST_F(Closures, C2_StepDoesNotWaitForTheWorkAndReadingInAClosureIsNoSync) {
  const float one = 1;
  const Tensor x = from_host(&one, DType::float32, Shape{1}, gated_device()) + 1;
  bool launched_first = false;
  float value = 0;
  const std::uint64_t implicit = count_of("sync.implicit");
  const std::uint64_t waits = count_of("sync.wait");
  add_step_closure(
      [&](const std::vector<Tensor>& args) {
        gate::wait_for_arrivals(1);  // the work has not run: the step did not wait for it
        launched_first = true;
        gate::open(1);
        value = args[0].item<float>();
      },
      {x}, false, gated_device());
  step(gated_device());
  EXPECT_TRUE(launched_first);
  EXPECT_EQ(value, 2.0F);
  EXPECT_EQ(count_of("sync.implicit"), implicit);
  EXPECT_EQ(count_of("sync.wait"), waits);
}

TEST_F(Closures, C2_AClosureAddedByAClosureRunsAfterTheNextStep) {
  int inner = 0;
  add_step_closure([&](const std::vector<Tensor>&) { add_step_closure([&](const std::vector<Tensor>&) { ++inner; }); });
  step();
  EXPECT_EQ(inner, 0);
  step();
  EXPECT_EQ(inner, 1);
}

TEST_F(Closures, C2_AStepInsideAClosureDoesNotRunTheOuterStepsOthers) {
  std::vector<std::string> order;
  add_step_closure([&](const std::vector<Tensor>&) {
    order.emplace_back("first begins");
    step();
    order.emplace_back("first ends");
  });
  add_step_closure([&](const std::vector<Tensor>&) { order.emplace_back("second"); });
  step();
  EXPECT_EQ(order, (std::vector<std::string>{"first begins", "first ends", "second"}));
}

TEST_F(Closures, C3_ABadQueueLengthIsAnError) {
  for (const char* bad : {"0", "-3", "many", "", "7 "}) {
    ::setenv("LENTO_MAX_ASYNC_QUEUE", bad, 1);
    EXPECT_THROW((void)max_async_closures(), ValueError) << bad;
  }
  ::unsetenv("LENTO_MAX_ASYNC_QUEUE");
  EXPECT_EQ(max_async_closures(), 100U);
}

TEST_F(Closures, C4_ASynchronousFailureLeavesStepAndDropsTheRest) {
  bool later = false;
  const Tensor y = tensor({1.0F}) + 1;
  add_step_closure([](const std::vector<Tensor>&) { throw Boom(); });
  add_step_closure([&](const std::vector<Tensor>&) { later = true; });
  const std::uint64_t dropped = count_of("closure.dropped");
  EXPECT_THROW(step(), Boom);
  EXPECT_FALSE(later);
  EXPECT_EQ(count_of("closure.dropped") - dropped, 1U);
  EXPECT_FALSE(y.is_pending());
  EXPECT_EQ(y.item<float>(), 2.0F);
  step();
  EXPECT_FALSE(later);
}

TEST_F(Closures, C5_AnAsynchronousFailureSurfacesOnTheNextSubmissionAndThenIsOver) {
  const std::uint64_t failed = count_of("closure.failed");
  add_step_closure([](const std::vector<Tensor>&) { throw Boom(); }, {}, true);
  step();
  wait_closures();
  EXPECT_EQ(count_of("closure.failed") - failed, 1U);
  step();  // hands nothing over: says nothing
  bool ran = false;
  bool synchronous = false;
  add_step_closure([&](const std::vector<Tensor>&) { ran = true; }, {}, true);
  add_step_closure([&](const std::vector<Tensor>&) { synchronous = true; });
  const std::uint_least32_t line = std::source_location::current().line() + 2;
  try {
    step();
    FAIL() << "the failure was swallowed";
  } catch (const ClosureError& error) {
    const std::string refused = "step: Cannot run asynchronous closure due to previously raised exception: boom";
    EXPECT_EQ(error.what(), refused + ", at closure_test.cpp:" + std::to_string(line));
    EXPECT_THROW(std::rethrow_exception(error.cause()), Boom);
  }
  EXPECT_TRUE(synchronous);
  EXPECT_FALSE(ran);
  add_step_closure([&](const std::vector<Tensor>&) { ran = true; }, {}, true);
  step();
  wait_closures();
  EXPECT_TRUE(ran);
}

TEST_F(Closures, C5_WhatIsQueuedBehindAFailureIsDropped) {
  std::latch release(1);
  const std::uint64_t dropped = count_of("closure.dropped");
  std::atomic<int> ran{0};
  add_step_closure(
      [&](const std::vector<Tensor>&) {
        release.wait();
        throw Boom();
      },
      {}, true);
  for (int i = 0; i < 3; ++i) add_step_closure([&](const std::vector<Tensor>&) { ++ran; }, {}, true);
  step();
  release.count_down();
  wait_closures();
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(count_of("closure.dropped") - dropped, 3U);
  add_step_closure([](const std::vector<Tensor>&) {}, {}, true);
  EXPECT_THROW(step(), ClosureError);
}

TEST_F(Closures, C5_ARejectionIsNotLostWhenASynchronousClosureRaises) {
  add_step_closure([](const std::vector<Tensor>&) { throw std::runtime_error("first"); }, {}, true);
  step();
  wait_closures();
  add_step_closure([](const std::vector<Tensor>&) {}, {}, true);
  add_step_closure([](const std::vector<Tensor>&) { throw std::logic_error("second"); });
  EXPECT_THROW(step(), std::logic_error);
  add_step_closure([](const std::vector<Tensor>&) {}, {}, true);
  EXPECT_THROW(step(), ClosureError);
  add_step_closure([](const std::vector<Tensor>&) {}, {}, true);
  EXPECT_NO_THROW(step());
  wait_closures();
}

TEST_F(Closures, C6_AnAsynchronousClosureMayStepAlsoWhenTheQueueIsFull) {
  ::setenv("LENTO_MAX_ASYNC_QUEUE", "1", 1);
  std::atomic<int> calls{0};
  add_step_closure(
      [&](const std::vector<Tensor>&) {
        for (int i = 0; i < 3; ++i) add_step_closure([&](const std::vector<Tensor>&) { ++calls; }, {}, true);
        step();
      },
      {}, true);
  step();
  while (calls < 3) std::this_thread::yield();
  wait_closures();
  ::unsetenv("LENTO_MAX_ASYNC_QUEUE");
}

TEST_F(Closures, C3_AClosureThatWouldWaitForItselfIsToldSo) {
  std::atomic<bool> told{false};
  add_step_closure(
      [&](const std::vector<Tensor>&) {
        try {
          wait_closures();
        } catch (const BackendError&) {
          told = true;
        }
      },
      {}, true);
  step();
  wait_closures();
  EXPECT_TRUE(told);
}

TEST_F(Closures, C3_ABadQueueLengthLosesNoClosure) {
  int calls = 0;
  add_step_closure([&](const std::vector<Tensor>&) { ++calls; }, {}, true);
  ::setenv("LENTO_MAX_ASYNC_QUEUE", "many", 1);
  EXPECT_THROW(step(), ValueError);
  ::unsetenv("LENTO_MAX_ASYNC_QUEUE");
  step();
  wait_closures();
  EXPECT_EQ(calls, 1);
}

struct Interrupted {};

TEST_F(Closures, C6_E10_AnInterruptedSubmissionLosesNoClosure) {
  ::setenv("LENTO_MAX_ASYNC_QUEUE", "1", 1);
  std::atomic<bool> go{false};
  std::atomic<int> asynchronous{0};
  int synchronous = 0;
  const auto blocked = [&](const std::vector<Tensor>&) {
    while (!go) std::this_thread::yield();
    ++asynchronous;
  };
  for (int i = 0; i < 4; ++i) add_step_closure(blocked, {}, true);
  add_step_closure([&](const std::vector<Tensor>&) { ++synchronous; });
  set_interrupt_check([] { throw Interrupted{}; });
  EXPECT_THROW(step(), Interrupted);  // one runs, one is queued, the third does not fit
  set_interrupt_check(nullptr);
  EXPECT_EQ(synchronous, 0);
  go = true;
  step();
  wait_closures();
  EXPECT_EQ(asynchronous, 4);
  EXPECT_EQ(synchronous, 1);
  ::unsetenv("LENTO_MAX_ASYNC_QUEUE");
}

TEST_F(Closures, C6_AStepThatRaisesBeforeLaunchKeepsItsClosures) {
  cache::clear();  // so that there is something to compile
  const float one = 1;
  const Tensor x = from_host(&one, DType::float32, Shape{1}, testing::faulty_device()) * 3;
  int ran = 0;
  add_step_closure([&](const std::vector<Tensor>&) { ++ran; }, {}, false, testing::faulty_device());
  testing::inject(testing::Fault::compile);
  EXPECT_THROW(step(testing::faulty_device()), BackendError);
  EXPECT_EQ(ran, 0);
  EXPECT_TRUE(x.is_pending());
  step(testing::faulty_device());
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(x.item<float>(), 3.0F);
}

TEST_F(Closures, C6_DevicesHaveSeparateQueues) {
  int here = 0;
  add_step_closure([&](const std::vector<Tensor>&) { ++here; }, {}, false, gated_device());
  step();
  EXPECT_EQ(here, 0);
  step(gated_device());
  EXPECT_EQ(here, 1);
}

}  // namespace
}  // namespace lento

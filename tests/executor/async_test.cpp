// Asynchronous runs, proven with a gate instead of a clock: the gated backend's runs wait for the test's word.
#include <lento/closures.h>
#include <lento/lento.h>

#include "backends/testing/testing.h"
#include "base/interrupt.h"
#include "device_under_test.h"
#include "executor/workers.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace lento {
namespace {

using testing::gated_device;
namespace gate = testing::gate;

class Async : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::register_testing_backends();
    gate::close();
  }
  void TearDown() override {
    gate::open_forever();
    wait({gated_device()});
    gate::close();
  }
  static Tensor on_gate(std::vector<float> values) {
    return from_host(values.data(), DType::float32, Shape{static_cast<std::int64_t>(values.size())}, gated_device());
  }
};

TEST_F(Async, E1_StepReturnsBeforeTheWorkIsDone) {
  const Tensor x = on_gate({1, 2});
  const Tensor y = x + 1;
  step(gated_device());
  gate::wait_for_arrivals(1);  // launched, not run
  EXPECT_FALSE(y.is_pending());
  gate::open(1);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{2, 3}));
}

/// Another thread waits, for what comes through the gate once.
template <class F>
void expect_to_end_behind_gate(F&& waits) {
  std::atomic<bool> waited{false};
  std::thread waiter([&] {
    waits();
    waited = true;
  });
  gate::wait_for_arrivals(1);
  EXPECT_FALSE(waited);
  gate::open(1);
  waiter.join();
  EXPECT_TRUE(waited);
}

TEST_F(Async, E1_WaitReturnsWhenItIsDone) {
  const Tensor y = on_gate({1}) + 1;
  step(gated_device());
  expect_to_end_behind_gate([] { wait({gated_device()}); });
}

TEST_F(Async, E5_ALaterStepIsQueuedBehindTheValuesItReads) {
  Tensor x = on_gate({0});
  for (int i = 0; i < 5; ++i) {
    x = x + 1;
    step(gated_device());
  }
  gate::wait_for_arrivals(1);
  EXPECT_EQ(gate::waiting(), 1);  // the other four wait for its result, not at the gate
  gate::open(5);
  EXPECT_EQ(x.item<float>(), 5);
}

TEST_F(Async, E5_IndependentStepsOfTwoThreadsOverlap) {
  const Tensor a = on_gate({1});
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      const Tensor y = a * 2;
      step(gated_device());
      EXPECT_EQ(y.item<float>(), 2);
    });
  }
  gate::wait_for_arrivals(2);  // both are at the gate at once: no device lock
  gate::open(2);
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Async, E5_ABufferLivesUntilEveryQueuedRunHasUsedIt) {
  Tensor y;
  {
    const Tensor x = on_gate({1, 2, 3});
    y = x + 1;
    step(gated_device());
  }  // the only handle of x is gone while its reader waits
  gate::wait_for_arrivals(1);
  const Tensor other = on_gate({9, 9, 9});  // memory that was freed too early would be taken by this
  gate::open(1);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(other.to_vector<float>(), (std::vector<float>{9, 9, 9}));
}

TEST_F(Async, E5_NothingIsDonatedWhileAQueuedRunStillReadsIt) {
  Tensor x = on_gate({1, 2, 3});
  const Tensor reader = x * 10;
  eval(reader);
  x[0] = 100.0F;  // would be in place if nobody else read the old value
  eval(x);
  gate::wait_for_arrivals(2);
  gate::open(2);
  EXPECT_EQ(reader.to_vector<float>(), (std::vector<float>{10, 20, 30}));
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{100, 2, 3}));
}

TEST_F(Async, T6_AValueThatIsStillBeingComputedIsDonatedToTheStepBehindIt) {
  Tensor x = on_gate({1, 2, 3});
  const std::uint64_t before = metrics::counter("donation");
  for (int i = 0; i < 3; ++i) {
    x[0] = static_cast<float>(i + 5);  // each step overwrites the only copy of what the one before computes
    step(gated_device());
  }
  gate::open(3);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{7, 2, 3}));
  EXPECT_EQ(metrics::counter("donation"), before + 3);
}

TEST_F(Async, E1_StepBlocksWhileAsManyStepsAsAllowedAreInFlight) {
  const Options saved = options();
  Options few = saved;
  few.max_inflight_steps = 2;
  set_options(few);
  metrics::reset();
  std::uint64_t most = 0;
  std::thread loop([&] {
    Tensor x = on_gate({0});
    for (int i = 0; i < 20; ++i) {
      x = x + 1;
      step(gated_device());
      const std::uint64_t launched = metrics::counter("launch.worker");
      most = std::max(most, launched - metrics::timing("run").count);
    }
    EXPECT_EQ(x.item<float>(), 20);
  });
  while (metrics::counter("launch.worker") < 2) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) {
    gate::wait_for_arrivals(1);
    gate::open(1);
  }
  loop.join();
  EXPECT_GE(most, 1U);
  EXPECT_LE(most, 2U);
  set_options(saved);
}

int blocked = 0;

TEST_F(Async, E1_ACallerThatWaitsRunsItselfWhatWasShortTheLastTime) {
  const Device reference("reference:0");
  const Tensor x = zeros({64, 64}, DType::float32, reference);  // products are taken to be long there
  eval(x);
  wait();
  set_blocking_hooks({[](WhoMayBlock /*who*/) -> void* { return &++blocked; }, [](void* /*token*/) {}});
  const auto runs_here = [&](bool waits) {
    const std::uint64_t before = metrics::counter("launch.inline");
    const int blocked_before = blocked;
    const Tensor y = matmul(x, x);
    step(reference, {.wait = waits});
    const bool here = metrics::counter("launch.inline") == before + 1;
    EXPECT_TRUE(!here || blocked > blocked_before);  // a front end lets go of its lock
    wait();
    return here;
  };
  cache::clear();
  EXPECT_FALSE(runs_here(true));  // nobody knows yet
  bool here = false;
  for (int tries = 0; tries < 1000 && !here; ++tries) here = runs_here(true);  // a busy machine may take long for it
  EXPECT_TRUE(here);
  EXPECT_FALSE(runs_here(false));
  set_blocking_hooks({});
}

/// Tries it until it runs on the calling thread, because a busy machine may take long for anything.
template <class F>
bool comes_to_run_here(F&& evaluate) {
  for (int tries = 0; tries < 1000; ++tries) {
    const std::uint64_t before = metrics::counter("launch.inline");
    evaluate();
    wait();
    if (metrics::counter("launch.inline") == before + 1) return true;
  }
  return false;
}

TEST_F(Async, E1_WhatTheLastRunTookIsBelievedInEveryWayOfEvaluating) {
  const Device reference("reference:0");
  const Tensor x = zeros({5, 5}, DType::float32, reference);  // estimated at 25 µs: a product is taken to be long there
  eval(x);
  wait();
  const auto first_runs_here = [&] {
    cache::clear();
    const std::uint64_t before = metrics::counter("launch.inline");
    const Tensor y = matmul(x, x);
    eval(y);
    wait();
    return metrics::counter("launch.inline") != before;
  };
  EXPECT_FALSE(first_runs_here());
  EXPECT_TRUE(comes_to_run_here([&] { eval(matmul(x, x)); }));
  EXPECT_TRUE(comes_to_run_here([&] { eval(matmul(x, x), {.wait = true}); }));
  EXPECT_TRUE(comes_to_run_here([&] {
    const Tensor y = matmul(x, x);
    step(reference);
  }));
  EXPECT_TRUE(comes_to_run_here([&] {
    const Tensor y = matmul(x, x);
    step(reference, {.wait = true});
  }));
  EXPECT_TRUE(comes_to_run_here([&] { (void)matmul(x, x).to_vector<float>(); }));
}

TEST_F(Async, E1_AStepDoesNotBlockForWhatTookLongerThanEstimated) {
  const Device reference("reference:0");
  const Tensor x =
      full({9000}, 0.5, DType::float64, reference);  // estimated at 18 µs: any function is taken to be quick
  eval(x);
  wait();
  const auto runs_on_worker = [&] {
    const std::uint64_t before = metrics::counter("launch.worker");
    const Tensor y = lgamma(x);
    step(reference);
    const bool on_worker = metrics::counter("launch.worker") == before + 1;
    wait();
    return on_worker;
  };
  cache::clear();
  EXPECT_FALSE(runs_on_worker());  // nobody knows yet
  EXPECT_TRUE(runs_on_worker());
}

TEST_F(Async, E1_EvalThatWaitsReturnsWhenItIsDone) {
  const Tensor y = on_gate({1}) + 1;
  expect_to_end_behind_gate([&] { eval(y, {.wait = true}); });
  EXPECT_EQ(y.item<float>(), 2);
}

TEST_F(Async, E1_T9_EvalAndTrimmingDoNotQueueWithoutBoundEither) {
  const Options saved = options();
  Options few = saved;
  few.max_inflight_steps = 2;
  few.max_pending_nodes = 10;
  set_options(few);
  metrics::reset();
  gate::open_forever();
  std::uint64_t most = 0;
  Tensor x = on_gate({0});
  for (int i = 0; i < 200; ++i) {
    x = x + 1;
    if (i % 7 == 0) eval(x);
    const std::uint64_t launched = metrics::counter("launch.worker");
    most = std::max(most, launched - metrics::timing("run").count);
  }
  EXPECT_EQ(x.item<float>(), 200);
  EXPECT_GT(metrics::counter("launch.worker"), 20U);
  EXPECT_LE(most, 2U);
  set_options(saved);
}

struct Interrupted {};

/// While it lives, threads that wait are interrupted.
class Interrupting {
 public:
  Interrupting() {
    set_interrupt_check([] { throw Interrupted{}; });
  }
  ~Interrupting() { set_interrupt_check(nullptr); }
  Interrupting(const Interrupting&) = delete;
  Interrupting& operator=(const Interrupting&) = delete;
};

TEST_F(Async, E10_EveryWaitCanBeInterruptedAndNothingIsLost) {
  const Tensor y = on_gate({1}) + 1;
  step(gated_device());
  {
    const Interrupting interrupting;
    EXPECT_THROW(wait({gated_device()}), Interrupted);
    EXPECT_THROW((void)y.item<float>(), Interrupted);
  }
  gate::open(1);
  EXPECT_EQ(y.item<float>(), 2);
}

TEST_F(Async, E10_ACompileCanBeInterruptedAndGoesOnInTheBackground) {
  cache::clear();
  const Tensor y = on_gate({1}) + 1;
  gate::open_forever();
  gate::hold_compiles(true);
  {
    const Interrupting interrupting;
    EXPECT_THROW(step(gated_device()), Interrupted);
  }
  EXPECT_TRUE(y.is_pending());
  gate::wait_for_compiles(1);
  const std::uint64_t misses = metrics::counter("plan.miss");
  std::thread again([&] { EXPECT_EQ(y.item<float>(), 2); });  // shares the compile that is under way
  gate::hold_compiles(false);
  again.join();
  EXPECT_EQ(metrics::counter("plan.miss"), misses);
}

TEST_F(Async, E8_WaitingForLaunchedWorkIsNoImplicitSync) {
  const Tensor y = on_gate({1}) + 1;
  step(gated_device());
  gate::wait_for_arrivals(1);
  const std::uint64_t implicit = metrics::counter("sync.implicit");
  const std::uint64_t waits = metrics::counter("sync.wait");
  std::thread opener([] { gate::open(1); });
  (void)y.item<float>();
  opener.join();
  EXPECT_EQ(metrics::counter("sync.implicit"), implicit);
  EXPECT_LE(metrics::counter("sync.wait") - waits, 1U);
}

TEST_F(Async, E5_AForkedChildWorks) {
  if (on_another_device()) GTEST_SKIP() << "a child cannot use a device that its parent has used (D2, tests/toy)";
  const Tensor x = tensor({1.0F, 2.0F});
  eval(x + 1);
  wait();
  const pid_t child = fork();
  if (child == 0) {
    const Tensor y = lento::matmul(lento::ones({64, 64}), lento::ones({64, 64}));  // long enough for a worker
    const bool right = (y[{0, 0}].item<float>()) == 64.0F && (x * 2).to_vector<float>()[1] == 4.0F;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ((x + 5).to_vector<float>(), (std::vector<float>{6, 7}));
}

TEST_F(Async, E5_AChildReadsWhatAnotherThreadWasRecording) {
  if (on_another_device()) GTEST_SKIP() << "a child cannot use a device that its parent has used (D2, tests/toy)";
  std::atomic<bool> stop{false};
  std::atomic<int> recorded{0};
  Tensor theirs;
  std::thread recorder([&] {
    Tensor x = tensor({1.0F});
    theirs = x + 1;
    // A fork finds the tape locked, or a run about to be launched, as often as not.
    while (!stop) {
      x = x * 0.5F;
      if (++recorded % 10 == 0) eval(x);
    }
  });
  while (recorded < 1000) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(theirs.item<float>() == 2 ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  stop = true;
  recorder.join();
}

/// A process of its own that ends with 0 when `body` does not hang or fail.
#define EXPECT_ENDS(body)                         \
  GTEST_FLAG_SET(death_test_style, "threadsafe"); \
  EXPECT_EXIT(                                    \
      {                                           \
        body;                                     \
        std::exit(0);                             \
      },                                          \
      ::testing::ExitedWithCode(0), "")

void queue_work() {
  Tensor x = lento::ones({256, 256});
  for (int i = 0; i < 10; ++i) {
    x = lento::matmul(x, x) * 0.001F;
    step();
  }
  add_step_closure([](const std::vector<Tensor>& args) { (void)args[0].sum().item<float>(); }, {x}, true);
  step();
}

TEST_F(Async, E5_C3_AProcessMayExitWhileAClosureWaitsForWork) {
  EXPECT_ENDS({
    add_step_closure([](const std::vector<Tensor>&) {});  // closures are used before anything is evaluated
    step();
    queue_work();
  });
}

TEST_F(Async, E5_WhatRunsAtTheEndOfTheProcessMayStillRead) {
  EXPECT_ENDS({
    static Tensor late;
    std::atexit([] {
      if (late.item<float>() != 3) std::_Exit(1);
    });
    late = lento::tensor({2.0F});
    queue_work();
    late = late + 1;
  });
}

TEST_F(Async, C5_AFailureAfterTheLastStepIsToldAtTheEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        add_step_closure([](const std::vector<Tensor>&) { throw std::runtime_error("the disk is full"); }, {}, true);
        step();
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "closure failed after the last step: the disk is full");
}

TEST_F(Async, E5_AProcessMayExitInTheMiddleOfWork) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own, not a fork of this one
  EXPECT_EXIT(
      {
        Tensor x = lento::ones({256, 256});
        for (int i = 0; i < 50; ++i) {
          x = lento::matmul(x, x) * 0.001F;
          step();
        }
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(Async, E5_AThreadThatIsJoinedAfterMainIsToldThatTheProcessEnds) {
  EXPECT_ENDS({
    static std::atomic<bool> told{false};
    static const struct Judge {
      ~Judge() {
        if (!told) std::_Exit(1);
      }
    } judge;
    static std::jthread late;  // younger than the judge: joined before it looks
    set_end_of_process(std::chrono::milliseconds(50));
    queue_work();
    late = std::jthread([] {
      try {
        while (true) (void)(lento::ones({2}) + 1).sum().item<float>();
      } catch (const BackendError& error) {
        told = std::string(error.what()).find("the process is ending") != std::string::npos;
      }
    });
  });
}

}  // namespace
}  // namespace lento

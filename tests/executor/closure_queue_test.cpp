// The asynchronous queue of step closures: its order, length and worker (clause C3), and that a failure is known before
// anything else of it (clause C5).
#include <lento/closures.h>
#include <lento/lento.h>

#include "backends/testing/testing.h"
#include "base/interrupt.h"
#include "executor/closures.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace lento {
namespace {

struct Boom : std::runtime_error {
  Boom() : std::runtime_error("boom") {}
};

using Arguments = std::vector<Tensor>;

void submit(StepClosure closure, Device device = {}) {
  add_step_closure(std::move(closure), {}, true, device);
  run_step_closures(device);
}

/// A thread that submits one closure, and tells whether it waits in there: a wait of Lento's asks now and then whether
/// to break off, on the thread that waits.
class Submitter {
 public:
  explicit Submitter(StepClosure closure) {
    waits = false;
    set_interrupt_check([] { waits = waits || is_submitter; });
    thread_ = std::thread([this, closure = std::move(closure)] {
      is_submitter = true;
      try {
        submit(closure);
      } catch (const ClosureError& error) {
        error_ = error.what();
      }
      returned_ = true;
    });
  }
  ~Submitter() {
    join();
    set_interrupt_check(nullptr);
  }
  Submitter(const Submitter&) = delete;
  Submitter& operator=(const Submitter&) = delete;

  /// Blocks until it waits, or has returned without.
  bool is_blocked() const {
    while (!waits && !returned_) std::this_thread::yield();
    return !returned_;
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  /// What it was refused with; after join().
  const std::string& error() const { return error_; }

 private:
  static inline std::atomic<bool> waits{false};
  static inline thread_local bool is_submitter = false;
  std::atomic<bool> returned_{false};
  std::string error_;
  std::thread thread_;
};

class ClosureQueue : public ::testing::Test {
 protected:
  void SetUp() override { testing::register_testing_backends(); }
  void TearDown() override {
    wait_closures();
    (void)take_closure_failures();
    set_closure_idle_time(std::chrono::seconds(3));
    ::unsetenv("LENTO_MAX_ASYNC_QUEUE");
  }
};

TEST_F(ClosureQueue, C3_ClosuresRunInOrderOnOneThreadThatIsNotTheSubmitters) {
  std::vector<int> order;
  std::set<std::thread::id> threads;
  std::latch release(1);
  submit([&](const Arguments&) { release.wait(); });  // so that the others are queued together
  for (int i = 0; i < 50; ++i) {
    submit([&, i](const Arguments&) {
      order.push_back(i);
      threads.insert(std::this_thread::get_id());
    });
  }
  EXPECT_TRUE(order.empty());
  release.count_down();
  wait_closures();
  ASSERT_EQ(order.size(), 50U);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(threads.size(), 1U);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST_F(ClosureQueue, C3_EachDeviceHasAWorkerOfItsOwn) {
  set_closure_idle_time(std::chrono::milliseconds(1));
  std::latch both(2);
  const auto meet = [&](const Arguments&) { both.arrive_and_wait(); };  // hangs unless both run at the same time
  submit(meet);
  submit(meet, testing::gated_device());
  wait_closures();
  EXPECT_TRUE(both.try_wait());
  while (closure_workers() > 1) std::this_thread::yield();  // other tests count the default device's
}

TEST_F(ClosureQueue, C3_TheQueueHoldsAHundred) {
  std::latch started(1);
  std::latch release(1);
  std::atomic<int> ran{0};
  submit([&](const Arguments&) {
    started.count_down();
    release.wait();
  });
  started.wait();  // it is no longer in the queue
  for (int i = 0; i < 100; ++i) submit([&](const Arguments&) { ++ran; });
  Submitter one_more([&](const Arguments&) { ++ran; });
  EXPECT_TRUE(one_more.is_blocked());
  EXPECT_EQ(ran, 0);
  release.count_down();
  one_more.join();
  EXPECT_EQ(one_more.error(), "");
  wait_closures();
  EXPECT_EQ(ran, 101);
}

TEST_F(ClosureQueue, C3_TheQueueHoldsWhatTheEnvironmentSays) {
  for (const int limit : {1, 3}) {
    ::setenv("LENTO_MAX_ASYNC_QUEUE", std::to_string(limit).c_str(), 1);
    std::latch started(1);
    std::latch release(1);
    std::vector<int> order;
    submit([&](const Arguments&) {
      started.count_down();
      release.wait();
    });
    started.wait();
    for (int i = 0; i < limit; ++i) submit([&order, i](const Arguments&) { order.push_back(i); });
    Submitter one_more([&order, limit](const Arguments&) { order.push_back(limit); });
    EXPECT_TRUE(one_more.is_blocked()) << limit;
    EXPECT_TRUE(order.empty());
    release.count_down();
    one_more.join();
    wait_closures();
    ASSERT_EQ(order.size(), static_cast<std::size_t>(limit) + 1);
    for (int i = 0; i <= limit; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  }
}

TEST_F(ClosureQueue, C3_TheWorkerStaysWhileThereIsWork) {
  std::set<std::thread::id> threads;
  std::vector<std::size_t> workers;
  for (int i = 0; i < 20; ++i) {
    submit([&](const Arguments&) { threads.insert(std::this_thread::get_id()); });
    wait_closures();
    workers.push_back(closure_workers());
  }
  EXPECT_EQ(threads.size(), 1U);
  EXPECT_EQ(workers, std::vector<std::size_t>(20, 1));
}

TEST_F(ClosureQueue, C3_TheWorkerEndsAfterThreeSecondsWithoutWorkAndStartsAgain) {
  // The time is the promise. An upper end is left to the test's own time limit: a machine may be busy.
  int calls = 0;
  const auto begin = std::chrono::steady_clock::now();
  submit([&](const Arguments&) { ++calls; });
  wait_closures();
  EXPECT_EQ(closure_workers(), 1U);
  while (closure_workers() != 0) std::this_thread::yield();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
  set_closure_idle_time(std::chrono::milliseconds(1));
  submit([&](const Arguments&) { ++calls; });
  wait_closures();
  EXPECT_EQ(calls, 2);
  while (closure_workers() != 0) std::this_thread::yield();
}

TEST_F(ClosureQueue, C5_ASubmitterBlockedOnTheFullQueueWakesAndRaises) {
  ::setenv("LENTO_MAX_ASYNC_QUEUE", "1", 1);
  std::latch started(1);
  std::latch release(1);
  std::atomic<int> ran{0};
  submit([&](const Arguments&) {
    started.count_down();
    release.wait();
    throw Boom();
  });
  started.wait();
  submit([&](const Arguments&) { ++ran; });  // the queue is full
  Submitter blocked([&](const Arguments&) { ++ran; });
  ASSERT_TRUE(blocked.is_blocked());
  const std::uint64_t dropped = metrics::counter("closure.dropped");
  release.count_down();
  blocked.join();
  const std::string refused =
      "run_step_closures: Cannot run asynchronous closure due to previously raised exception: boom, at ";
  EXPECT_EQ(blocked.error().find(refused), 0U) << blocked.error();
  wait_closures();
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(metrics::counter("closure.dropped") - dropped, 2U);
  submit([&](const Arguments&) { ++ran; });  // the handler is clean
  wait_closures();
  EXPECT_EQ(ran, 1);
}

// --- a failure is known before any other effect of it ---

/// Does something when it goes.
struct Ending {
  std::function<void()> act;
  ~Ending() { act(); }
};

/// A number that one thread sets and another waits for.
class Signal {
 public:
  void set(int round) {
    last_ = round;
    last_.notify_all();
  }
  void wait_for(int round) const {
    for (int last = last_; last != round; last = last_) last_.wait(last);
  }

 private:
  std::atomic<int> last_{-1};
};

/// Hands over a closure that fails, by `start`, and lets `wait_for_failure` return, without draining, as soon as
/// somebody could know. Then the next submission must raise, always.
template <class Start, class Wait>
void expect_refusal_each_time(Start start, Wait wait_for_failure) {
  constexpr int kRounds = 2000;
  int refused = 0;
  int ran = 0;
  for (int round = 0; round < kRounds; ++round) {
    start(round);
    wait_for_failure(round);
    try {
      submit([&](const Arguments&) { ++ran; });
      break;  // what is queued now is dropped, and a later round would wait for it for ever
    } catch (const ClosureError& error) {
      EXPECT_THROW(std::rethrow_exception(error.cause()), Boom);
      ++refused;
    }
  }
  wait_closures();
  EXPECT_EQ(refused, kRounds);
  EXPECT_EQ(ran, 0);
}

void submit_failing(int /*round*/) {
  submit([](const Arguments&) { throw Boom(); });
}

TEST_F(ClosureQueue, C5_RaisesOnceACapturedObjectHasGone) {
  Signal gone;
  const auto start = [&](int round) {
    auto captured = std::make_shared<Ending>([&gone, round] { gone.set(round); });
    submit([captured = std::move(captured)](const Arguments&) { throw Boom(); });
  };
  expect_refusal_each_time(start, [&](int round) { gone.wait_for(round); });
}

TEST_F(ClosureQueue, C5_RaisesOnceADroppedClosureHasGone) {
  Signal gone;
  const auto start = [&](int round) {
    const auto both_queued = std::make_shared<std::latch>(1);
    auto captured = std::make_shared<Ending>([&gone, round] { gone.set(round); });
    submit([both_queued](const Arguments&) {
      both_queued->wait();
      throw Boom();
    });
    submit([captured = std::move(captured)](const Arguments&) { ADD_FAILURE() << "not dropped"; });
    both_queued->count_down();
  };
  expect_refusal_each_time(start, [&](int round) { gone.wait_for(round); });
}

TEST_F(ClosureQueue, C5_RaisesOnceTheFailureIsCounted) {
  const std::uint64_t before = metrics::counter("closure.failed");
  expect_refusal_each_time(submit_failing, [&](int round) {
    while (metrics::counter("closure.failed") - before <= static_cast<std::uint64_t>(round)) std::this_thread::yield();
  });
}

TEST_F(ClosureQueue, C5_RaisesOnceTheTimeOfTheClosureIsCounted) {
  const std::uint64_t before = metrics::timing("closure").count;
  expect_refusal_each_time(submit_failing, [&](int round) {
    while (metrics::timing("closure").count - before <= static_cast<std::uint64_t>(round)) std::this_thread::yield();
  });
}

TEST_F(ClosureQueue, C5_RaisesOnceALockIsFreeThatTheClosureHeldWhenItFailed) {
  // As a front end does that must give up a lock of its own before it can throw: it announces the failure first.
  std::mutex lock;
  Signal entered;
  const auto start = [&](int round) {
    submit([&, round](const Arguments&) {
      const std::lock_guard held(lock);
      entered.set(round);
      closure_is_failing();
      throw Boom();
    });
  };
  expect_refusal_each_time(start, [&](int round) {
    entered.wait_for(round);
    const std::lock_guard free(lock);
  });
}

TEST_F(ClosureQueue, C5_TheErrorSaysWhatTheCauseSays) {
  const std::string refused = "run_step_closures: Cannot run asynchronous closure due to previously raised exception: ";
  const auto message_after = [](StepClosure fail) -> std::string {
    submit(std::move(fail));
    wait_closures();
    try {
      submit([](const Arguments&) {});
    } catch (const ClosureError& error) {
      const std::string message = error.what();
      return message.substr(0, message.rfind(", at closure_queue_test.cpp:"));
    }
    return "";
  };
  EXPECT_EQ(message_after([](const Arguments&) { throw Boom(); }), refused + "boom");
  EXPECT_EQ(message_after([](const Arguments&) { throw "a literal"; }), refused + "a literal");
  EXPECT_EQ(message_after([](const Arguments&) { throw std::string("a string"); }), refused + "a string");
  EXPECT_EQ(message_after([](const Arguments&) { throw 7; }), refused + "something that is no std::exception");
  const std::string shapes = message_after([](const Arguments&) { (void)(zeros({2}) + zeros({3})); });
  EXPECT_EQ(shapes.find(refused + "add: "), 0U) << shapes;
}

TEST_F(ClosureQueue, C1_AnEmptyHandleIsRefusedAndSpoilsNoStep) {
  EXPECT_THROW(add_step_closure([](const Arguments&) {}, {tensor({1.0F}), Tensor()}), ValueError);
  Tensor moved = tensor({1.0F});
  const Tensor taken = std::move(moved);
  EXPECT_THROW(add_step_closure([](const Arguments&) {}, {moved}, true), ValueError);
  int ran = 0;
  add_step_closure([&](const Arguments&) { ++ran; }, {taken});
  step();
  EXPECT_EQ(ran, 1);
}

TEST(ClosureErrors, C5_SayWhateverWasThrown) {
  EXPECT_NE(std::string(ClosureError(nullptr).what()).find("nothing"), std::string::npos);
  const char* none = nullptr;
  const ClosureError of_null(std::make_exception_ptr(none));
  EXPECT_NE(std::string(of_null.what()).find("Cannot run asynchronous closure"), std::string::npos);
}

}  // namespace
}  // namespace lento

// The end of the process: its exit code is what the program said, wherever it said it.
#include <lento/lento.h>

#include "backends/testing/testing.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

namespace lento {
namespace {

using Arguments = std::vector<Tensor>;

/// Each test ends a process of its own, which starts from the beginning: there are threads.
class ProcessEnd : public ::testing::Test {
 protected:
  void SetUp() override {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    testing::register_testing_backends();
  }
};

[[noreturn]] void wait_for_the_end() {
  while (true) std::this_thread::yield();
}

void submit(StepClosure closure) { add_step_closure(std::move(closure), {}, true); }

TEST_F(ProcessEnd, C3_ExitInAnAsynchronousClosureKeepsItsCode) {
  EXPECT_EXIT(
      {
        submit([](const Arguments&) { std::exit(7); });
        step();
        wait_for_the_end();
      },
      ::testing::ExitedWithCode(7), "");
}

TEST_F(ProcessEnd, C3_ExitInAnAsynchronousClosureDropsWhatIsQueuedBehindIt) {
  EXPECT_EXIT(
      {
        std::latch queued(1);
        submit([&](const Arguments&) {
          queued.wait();
          std::exit(8);
        });
        for (int i = 0; i < 5; ++i) submit([](const Arguments&) { std::_Exit(99); });
        step();
        queued.count_down();
        wait_for_the_end();
      },
      ::testing::ExitedWithCode(8), "");
}

TEST_F(ProcessEnd, C3_ExitInAnAsynchronousClosureWhileOthersWaitForIt) {
  EXPECT_EXIT(
      {
        std::latch waiting(1);
        submit([&](const Arguments&) {
          waiting.wait();
          std::exit(9);
        });
        step();
        std::thread other([&] {
          waiting.count_down();
          wait_closures();
        });
        wait_closures();
        wait_for_the_end();
      },
      ::testing::ExitedWithCode(9), "");
}

TEST_F(ProcessEnd, C3_ExitInAnAsynchronousClosureThatHasReadAndStepped) {
  EXPECT_EXIT(
      {
        Tensor x = tensor({1.0F}) + 1;
        add_step_closure(
            [](const Arguments& args) {
              const Tensor y = args[0] * 2;
              step();
              std::exit(static_cast<int>(y.item<float>()));
            },
            {x}, true);
        step();
        wait_for_the_end();
      },
      ::testing::ExitedWithCode(4), "");
}

TEST_F(ProcessEnd, C2_ExitInASynchronousClosureWaitsForTheAsynchronousOnes) {
  EXPECT_EXIT(
      {
        std::latch release(1);
        submit([&](const Arguments&) {
          release.wait();
          std::fputs("the asynchronous one has run\n", stderr);
        });
        add_step_closure([&](const Arguments&) {
          release.count_down();
          std::exit(10);
        });
        step();
      },
      ::testing::ExitedWithCode(10), "the asynchronous one has run");
}

TEST_F(ProcessEnd, C5_ExitAfterAFailureTellsOfItAndKeepsTheCode) {
  EXPECT_EXIT(
      {
        submit([](const Arguments&) { throw std::runtime_error("boom"); });
        step();
        std::exit(11);
      },
      ::testing::ExitedWithCode(11), "an asynchronous step closure failed after the last step: boom");
}

TEST_F(ProcessEnd, E5_ExitInAnotherThreadWhileTheMainOneSteps) {
  EXPECT_EXIT(
      {
        std::atomic<int> steps{0};
        std::thread other([&] {
          while (steps < 20) std::this_thread::yield();
          std::exit(12);
        });
        Tensor x = tensor({1.0F});
        while (true) {
          x += 1.0F;
          submit([](const Arguments&) {});
          step();
          ++steps;
        }
      },
      ::testing::ExitedWithCode(12), "");
}

TEST_F(ProcessEnd, E5_ExitWhileARunIsUnderWay) {
  EXPECT_EXIT(
      {
        const float one = 1;
        const Tensor x = from_host(&one, DType::float32, Shape{1}, testing::gated_device()) + 1;
        testing::gate::close();
        eval(x);
        testing::gate::wait_for_arrivals(1);
        std::thread other([] { std::exit(13); });
        testing::gate::open_forever();
        wait_for_the_end();
      },
      ::testing::ExitedWithCode(13), "");
}

/// Computes when the thread ends, after what Lento keeps for the thread is gone.
struct LateReader {
  Tensor held;
  std::vector<float>* result = nullptr;

  ~LateReader() {
    if (result != nullptr) *result = (held + 1.0F).to_vector<float>();
  }
};

thread_local LateReader late;

TEST(ThreadEnd, ADestructorOfAThreadsVariableMayCompute) {
  std::vector<float> result;
  std::thread([&] {
    late.result = &result;  // made before anything of Lento, so it goes last
    late.held = ones({2}) * 3.0F;
    step();
  }).join();
  EXPECT_EQ(result, (std::vector<float>{4, 4}));
}

}  // namespace
}  // namespace lento

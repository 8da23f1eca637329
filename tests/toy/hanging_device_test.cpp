// A device that hangs, or that a fork finds in the middle of its first use: what the end of the process and the child
// of a fork make of it.
#include "toy/toy.h"

#include "base/progress.h"
#include "executor/work.h"

#include <lento/closures.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <latch>
#include <string>
#include <thread>

namespace lento::test {
namespace {

using Arguments = std::vector<Tensor>;

/// Waits as short as it may: nothing that hangs here ever goes on by itself.
class ToyHangs : public Toy {
 protected:
  void SetUp() override {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";  // each end of a process is that of a new one
    Toy::SetUp();
    set_patience(std::chrono::milliseconds(20));
  }
  void TearDown() override {
    set_patience(patience_before_);
    Toy::TearDown();
  }

 private:
  std::chrono::milliseconds patience_before_ = patience();
};

constexpr const char* kTold = "nothing has gone on on toy:0 for 0.02 seconds: the process ends";

TEST_F(ToyHangs, E5_TheEndOfTheProcessDoesNotWaitForIt) {
  EXPECT_EXIT(
      {
        const Tensor x = on_toy({1, 2});
        wait();
        toy::hold(true);
        const Tensor y = x + 1;
        step(device());
        std::exit(3);
      },
      ::testing::ExitedWithCode(3), kTold);
}

TEST_F(ToyHangs, E5_TheEndOfTheProcessDoesNotWaitForAWorkerThatDoes) {
  EXPECT_EXIT(
      {
        toy::set_support(toy::Support::few);
        const Tensor x = on_toy({1, 2});
        wait();
        toy::hold(true);
        const Tensor y = sort(x);  // on the CPU device, once the copy from the toy has ended
        step(device());
        std::exit(4);
      },
      ::testing::ExitedWithCode(4), kTold);
}

TEST_F(ToyHangs, D3_TheEndOfTheProcessDoesNotWaitForItsCopies) {
  EXPECT_EXIT(
      {
        const Tensor x = on_toy({1, 2});
        wait();
        toy::hold(true);
        const Tensor here = to_device(x, Device("cpu"));
        const Tensor later = here + 1;
        eval({later});
        std::exit(5);
      },
      ::testing::ExitedWithCode(5), "nothing has gone on on cpu:0, toy:0 for 0.02 seconds: the process ends");
}

TEST_F(ToyHangs, C3_TheEndOfTheProcessDoesNotWaitForAClosureThatReadsFromIt) {
  EXPECT_EXIT(
      {
        const Tensor x = on_toy({1, 2});
        wait();
        toy::hold(true);
        const Tensor y = x + 1;
        add_step_closure([](const Arguments& args) { (void)args[0].to_vector<float>(); }, {y}, true, device());
        add_step_closure([](const Arguments&) { std::_Exit(99); }, {}, true, device());
        step(device());
        std::exit(6);
      },
      ::testing::ExitedWithCode(6), kTold);
}

TEST_F(ToyHangs, C3_TheEndOfTheProcessDoesNotWaitForAClosureThatCopiesFromIt) {
  EXPECT_EXIT(
      {
        const Tensor x = computed_on_toy({1, 2});
        toy::hold(true);
        add_step_closure([](const Arguments& args) { (void)args[0].to_vector<float>(); }, {x}, true, device());
        run_step_closures(device());
        std::exit(7);
      },
      ::testing::ExitedWithCode(7), "nothing has gone on for 0.02 seconds: the process ends");
}

TEST_F(ToyHangs, C3_TheEndOfTheProcessWaitsForAClosureThatDoesSomethingElse) {
  EXPECT_EXIT(
      {
        set_patience(std::chrono::milliseconds(0));
        std::latch started(1);
        add_step_closure(
            [&](const Arguments&) {
              started.count_down();
              for (int i = 0; i < 10'000; ++i) std::this_thread::yield();
              std::fputs("the closure has run", stderr);
            },
            {}, true);
        step();
        started.wait();
        std::exit(8);
      },
      ::testing::ExitedWithCode(8), "^the closure has run$");
}

/// Work that is slow to let go of what it holds.
struct SlowToGo final : Work {
  SlowToGo(Device where, std::latch& may_go) : Work(where.id()), may_go_(may_go) {}
  ~SlowToGo() override { may_go_.wait(); }
  SlowToGo(const SlowToGo&) = delete;
  SlowToGo& operator=(const SlowToGo&) = delete;
  FenceRef start() noexcept override { return {}; }

 private:
  std::latch& may_go_;
};

// Found by review: it was no longer under way while its program, which may be the last one's to hold, was going.
TEST_F(ToyHangs, E5_WorkIsUnderWayUntilAllOfItIsGone) {
  std::latch may_go(1);
  auto work = std::make_unique<SlowToGo>(device(), may_go);
  const CompletionRef completion = work->completion;
  start_when_ready(std::move(work));
  completion->wait();
  const auto all_has_ended = [] {
    Patience patience;
    return let_devices_end(patience);
  };
  EXPECT_FALSE(all_has_ended());
  may_go.count_down();
  while (!all_has_ended()) std::this_thread::yield();
}

/// Whether this raises the error of a child.
bool is_refused(const std::function<void()>& read, const std::string& why) {
  try {
    read();
    return false;
  } catch (const DeviceError& error) {
    return std::string(error.what()).find(why) != std::string::npos;
  }
}

constexpr const char* kWasInUse = "in use when the process forked";
constexpr const char* kUnderWay = "was being computed when the process forked";

TEST_F(ToyHangs, D2_E5_AForkDoesNotWaitForItAndItsChildHasNothingOfIt) {
  const Tensor x = on_toy({1, 2});
  const Tensor here = on(Device("cpu"), {1, 2});
  wait();
  toy::hold(true);
  const Tensor y = x + 1;
  step(device());
  const Tensor moved = to_device(y, Device("cpu"));
  const Tensor later = moved * here;
  eval({later});
  ::testing::internal::CaptureStderr();
  const int wrong = in_child([&] {
    int bits = 0;
    if (!is_refused([&] { (void)y.to_vector<float>(); }, kUnderWay)) bits |= 1;
    if (!is_refused([&] { (void)moved.to_vector<float>(); }, kUnderWay)) bits |= 2;
    if (!is_refused([&] { (void)later.to_vector<float>(); }, kUnderWay)) bits |= 4;
    if (!is_refused([&] { (void)(later + here).to_vector<float>(); }, kUnderWay)) bits |= 8;
    if (!is_refused([&] { (void)x.to_vector<float>(); }, kWasInUse)) bits |= 32;
    if ((here * 3).to_vector<float>() != Floats{3, 6}) bits |= 16;
    step();
    wait();
    return bits;
  });
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(
      told,
      "lento: nothing has gone on on cpu:0, toy:0 for 0.02 seconds: the process forks, and the child will not have "
      "what is under way\n");
  toy::hold(false);
  EXPECT_EQ(later.to_vector<float>(), (Floats{2, 6})) << "the parent goes on";
  EXPECT_EQ(y.to_vector<float>(), (Floats{2, 3}));
}

TEST_F(ToyHangs, D2_E5_AForkDoesNotWaitForAWorkerThatDoes) {
  toy::set_support(toy::Support::few);
  const Tensor x = on_toy({3, 1, 2});
  const Tensor here = on(Device("cpu"), {1, 2});
  wait();
  toy::hold(true);
  const Tensor y = sort(x);
  step(device());
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(in_child([&] {
              const Tensor z = here * 3;
              step();
              return z.to_vector<float>() == Floats{3, 6} ? 0 : 1;
            }),
            0);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("toy:0"), std::string::npos);
  toy::hold(false);
  EXPECT_EQ(y.to_vector<float>(), (Floats{1, 2, 3}));
}

std::latch in_first_use(1);
std::latch first_use_goes_on(1);

TEST_F(ToyHangs, D2_E5_AForkInTheMiddleOfTheFirstUseGivesAChildThatIsTold) {
  EXPECT_EXIT(
      {
        toy::at_first_use([] {
          in_first_use.count_down();
          first_use_goes_on.wait();
        });
        std::thread user([] { std::exit(on_toy({1, 2}).to_vector<float>() == Floats{1, 2} ? 9 : 1); });
        in_first_use.wait();
        const Tensor here = on(Device("cpu"), {1, 2});
        const int wrong = in_child([&] {
          int bits = 0;
          if (!is_refused([] { (void)on_toy({1}); }, kWasInUse)) bits |= 1;
          if (!is_refused([&] { (void)to_device(here, device()); }, kWasInUse)) bits |= 2;
          if (!is_refused([&] { (void)backend_of(device().id()).queues(device().id()); }, kWasInUse)) bits |= 4;
          const Tensor z = here * 3;
          step();
          if (z.to_vector<float>() != Floats{3, 6}) bits |= 8;
          return bits;
        });
        if (wrong != 0) std::_Exit(10 + wrong);
        first_use_goes_on.count_down();
        user.join();
      },
      ::testing::ExitedWithCode(9), "");
}

}  // namespace
}  // namespace lento::test

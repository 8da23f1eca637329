// Failures: every point at which the faulty backend can fail is tried; nothing hangs, nothing is lost (E6, E7).
#include <lento/lento.h>

#include "backends/testing/testing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lento {
namespace {

using testing::Fault;
using testing::faulty_device;

class Failures : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::register_testing_backends();
    testing::inject(Fault::none);
  }
  void TearDown() override {
    testing::inject(Fault::none);
    try {
      wait();
    } catch (const Error&) {  // what the test provoked
    }
  }
  static Tensor data(std::vector<float> values) {
    return from_host(values.data(), DType::float32, Shape{static_cast<std::int64_t>(values.size())}, faulty_device());
  }
};

/// A small program with several steps, an in-place update and a partial evaluation. Every fault must either raise and
/// leave everything retryable, or poison values that then raise whenever they are read.
std::vector<float> program() {
  const std::vector<float> start{1, 2, 3};
  const auto retry = [](auto&& action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("injected fault"), std::string::npos) << error.what();
      action();  // the fault is over: the same call succeeds
    }
  };
  Tensor x;
  retry([&] { x = from_host(start.data(), DType::float32, Shape{3}, faulty_device()); });
  Tensor y = x * 2;
  retry([&] { eval(y); });
  y += 1;
  y[0] = 50.0F;
  const Tensor z = y + x;
  retry([&] { step(faulty_device()); });
  return z.to_vector<float>();
}

TEST_F(Failures, E6_E7_EveryPointOfFailureIsTried) {
  const std::vector<float> right{51, 7, 10};
  ASSERT_EQ(program(), right);
  int happened = 0;
  for (const Fault fault : {Fault::allocate, Fault::compile, Fault::run}) {
    for (int after = 0; after < 6; ++after) {
      cache::clear();
      testing::inject(fault, after);
      try {
        EXPECT_EQ(program(), right);
      } catch (const Error& error) {
        // Only a run poisons; it is told once more by wait, and then it is over.
        EXPECT_EQ(fault, Fault::run);
        EXPECT_NE(std::string(error.what()).find("injected fault"), std::string::npos) << error.what();
        EXPECT_THROW(wait({faulty_device()}), Error);
        EXPECT_NO_THROW(wait({faulty_device()}));
      }
      happened += testing::fault_pending() ? 0 : 1;
      testing::inject(Fault::none);
      EXPECT_EQ(program(), right);
      try {
        wait({faulty_device()});
      } catch (const Error&) {  // a poisoned value that nobody read
      }
    }
  }
  EXPECT_GE(happened, 5);
}

TEST_F(Failures, E6_AFailedCompileLeavesEveryTensorAsItWas) {
  const Tensor x = data({1, 2});
  const Tensor y = x + 1;
  const Tensor z = y * 2;
  const std::string before = dump({z});
  testing::inject(Fault::compile);
  EXPECT_THROW(step(faulty_device()), BackendError);
  EXPECT_TRUE(y.is_pending());
  EXPECT_EQ(dump({z}), before);
  EXPECT_EQ(z.to_vector<float>(), (std::vector<float>{4, 6}));
}

TEST_F(Failures, E7_WaitRaisesOnceAndStepNeverRaisesOlderPoison) {
  const Tensor bad = data({1}) + 1;
  testing::inject(Fault::run);
  step(faulty_device());
  EXPECT_THROW(wait({faulty_device()}), BackendError);
  EXPECT_NO_THROW(wait({faulty_device()}));
  const Tensor dependent = bad * 2;
  const Tensor good = data({5}) * 2;
  EXPECT_NO_THROW(step(faulty_device()));
  EXPECT_NO_THROW(wait({faulty_device()}));  // inherited poison was reported where it began
  EXPECT_EQ(good.item<float>(), 10);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW((void)bad.item<float>(), BackendError);  // every time
    EXPECT_THROW((void)dependent.item<float>(), BackendError);
  }
}

TEST_F(Failures, NothingLeaks) {
  const std::size_t before = memory().live;
  const std::uint64_t alive = metrics::counter("tensor.created") - metrics::counter("tensor.destroyed");
  for (const Fault fault : {Fault::allocate, Fault::compile, Fault::run}) {
    for (int after = 0; after < 4; ++after) {
      testing::inject(fault, after);
      try {
        (void)program();
      } catch (const Error&) {  // the injected one
      }
      testing::inject(Fault::none);
    }
  }
  try {
    wait();
  } catch (const Error&) {  // likewise
  }
  EXPECT_EQ(memory().live, before);
  EXPECT_EQ(metrics::counter("tensor.created") - metrics::counter("tensor.destroyed"), alive);
}

}  // namespace
}  // namespace lento

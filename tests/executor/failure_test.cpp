// Failures: every point at which the faulty backend can fail is tried; nothing hangs, nothing is lost (E6, E7).
#include <lento/lento.h>

#include "backends/testing/testing.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

namespace lento {
namespace {

using testing::Fault;
using testing::faulty_device;

constexpr Fault kEveryFault[] = {Fault::allocate, Fault::compile, Fault::launch, Fault::completion};

class Failures : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::register_testing_backends();
    forget();
  }
  void TearDown() override { forget(); }

  /// No fault is planned, and none is waiting to be reported.
  static void forget() {
    testing::inject(Fault::none);
    while (true) {
      try {
        wait();
        return;
      } catch (const Error&) {  // what the test provoked; there may be more
      }
    }
  }
  /// Until the run that is under way has met the planned fault: the next run could meet it first.
  static void let_fault_happen() {
    while (testing::fault_pending()) std::this_thread::yield();
  }
  static Tensor data(std::vector<float> values) {
    return from_host(values.data(), DType::float32, Shape{static_cast<std::int64_t>(values.size())}, faulty_device());
  }
};

void expect_injected(const Error& error) {
  EXPECT_NE(std::string(error.what()).find("injected fault"), std::string::npos) << error.what();
}

/// A program with several steps, an in-place update and a partial evaluation. A call that raises is made again, which
/// must work; what is poisoned raises whenever it is read, and the program is told so by an empty result.
std::vector<float> program() {
  const std::vector<float> start{1, 2, 3};
  const auto retry = [](auto&& action) {
    try {
      action();
    } catch (const Error& error) {
      expect_injected(error);
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
  const auto read = [](const Tensor& tensor) {
    try {
      return tensor.to_vector<float>();
    } catch (const Error& error) {
      expect_injected(error);
      EXPECT_THROW((void)tensor.to_vector<float>(), Error);  // every time
      return std::vector<float>{};
    }
  };
  EXPECT_EQ(read(x), start);  // no fault touches a value that was there before
  return read(z);
}

TEST_F(Failures, E6_E7_EveryPointOfFailureIsTried) {
  const std::vector<float> right{51, 7, 10};
  ASSERT_EQ(program(), right);
  for (const Fault fault : kEveryFault) {
    int points = 0;
    for (bool happened = true; happened; ++points) {
      cache::clear();
      testing::inject(fault, points);
      const std::vector<float> result = program();
      happened = !testing::fault_pending();
      testing::inject(Fault::none);
      if (result != right) {
        // A run failed: its values stay poisoned, one wait tells of it, and everything after works.
        EXPECT_TRUE(result.empty());
        EXPECT_NE(fault, Fault::compile);
        EXPECT_THROW(wait({faulty_device()}), Error);
      }
      EXPECT_NO_THROW(wait({faulty_device()}));
      EXPECT_EQ(program(), right);
    }
    EXPECT_GE(points, 3) << "kind " << static_cast<int>(fault);
  }
}

TEST_F(Failures, E6_AFailedCompileLeavesEveryTensorAsItWas) {
  const Tensor x = data({1, 2});
  const Tensor y = x + 1;
  const Tensor z = y * 2;
  const std::string before = dump({z});
  const auto everything_raises_once = [&](auto&& call) {
    testing::inject(Fault::compile);
    EXPECT_THROW(call(), BackendError);
    EXPECT_TRUE(y.is_pending());
    EXPECT_TRUE(z.is_pending());
    EXPECT_EQ(dump({z}), before);
  };
  cache::clear();
  everything_raises_once([] { step(faulty_device()); });
  everything_raises_once([&] { eval(y); });
  everything_raises_once([&] { (void)z.to_vector<float>(); });
  EXPECT_EQ(z.to_vector<float>(), (std::vector<float>{4, 6}));
}

TEST_F(Failures, E6_NoMemoryWhenTheStepIsPlannedRaisesAndCanBeRepeated) {
  const Tensor x = data(std::vector<float>(1000, 1));
  const Tensor y = (x + 1) * 2;
  const std::string before = dump({y});
  set_memory_limit(memory(faulty_device()).live + 4000, faulty_device());
  EXPECT_THROW(step(faulty_device()), MemoryError);
  EXPECT_EQ(dump({y}), before);
  set_memory_limit(0, faulty_device());
  step(faulty_device());
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(1000, 4));
}

TEST_F(Failures, T9_E6_ATraceThatCannotBeTrimmedGrowsAndNoOpRaises) {
  const Options saved = options();
  Options few = saved;
  few.max_pending_nodes = 100;
  set_options(few);
  cache::clear();
  Tensor x = data({0});
  testing::inject(Fault::compile);
  for (int i = 0; i < 150; ++i) EXPECT_NO_THROW(x = x + 1);
  EXPECT_FALSE(testing::fault_pending()) << "nothing was trimmed";
  EXPECT_EQ(x.item<float>(), 150);
  set_options(saved);
}

TEST_F(Failures, E7_WaitRaisesOnceAndStepNeverRaisesOlderPoison) {
  const Tensor bad = data({1}) + 1;
  testing::inject(Fault::launch);
  step(faulty_device());
  EXPECT_THROW(wait({faulty_device()}), BackendError);
  EXPECT_NO_THROW(wait({faulty_device()}));
  const Tensor dependent = bad * 2;
  const Tensor good = data({5}) * 2;
  EXPECT_NO_THROW(step(faulty_device(), {.wait = true}));
  EXPECT_NO_THROW(wait({faulty_device()}));  // inherited poison was reported where it began
  EXPECT_EQ(good.item<float>(), 10);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW((void)bad.item<float>(), BackendError);  // every time
    EXPECT_THROW((void)dependent.item<float>(), BackendError);
  }
}

TEST_F(Failures, E7_EveryFailureIsToldByAWaitOfItsOwn) {
  std::vector<Tensor> bad;
  for (int i = 0; i < 2; ++i) {
    bad.push_back(data({1}) + 1);
    testing::inject(Fault::launch);
    step(faulty_device());
    EXPECT_THROW((void)bad.back().item<float>(), BackendError);
  }
  EXPECT_THROW(wait({faulty_device()}), BackendError);
  EXPECT_THROW(wait({faulty_device()}), BackendError);
  EXPECT_NO_THROW(wait({faulty_device()}));
}

TEST_F(Failures, E1_E7_AFailureOnOneDeviceDoesNotEndTheWaitForAnother) {
  testing::gate::close();
  const std::uint64_t ended = metrics::timing("run").count;
  const Tensor bad = data({1}) + 1;
  testing::inject(Fault::launch);
  step(faulty_device());
  const float one = 1;
  const Tensor slow = from_host(&one, DType::float32, Shape{1}, testing::gated_device()) + 1;
  step(testing::gated_device());
  std::thread opener([] {
    testing::gate::wait_for_arrivals(1);
    testing::gate::open(1);
  });
  EXPECT_THROW(wait({faulty_device(), testing::gated_device()}), BackendError);
  EXPECT_EQ(metrics::timing("run").count, ended + 2);
  opener.join();
}

TEST_F(Failures, E7_AStepThatWaitsRaisesItsOwnFailureOnly) {
  const Tensor older = data({1}) + 1;
  testing::inject(Fault::launch);
  step(faulty_device());
  let_fault_happen();
  const Tensor good = data({5}) * 2;
  EXPECT_NO_THROW(step(faulty_device(), {.wait = true}));
  const Tensor bad = data({5}) * 3;
  testing::inject(Fault::completion);
  EXPECT_THROW(step(faulty_device(), {.wait = true}), BackendError);
  EXPECT_THROW(wait({faulty_device()}), BackendError);  // the older one, which nobody has been told of
  EXPECT_NO_THROW(wait({faulty_device()}));
}

TEST_F(Failures, E7_AValueThatFailsLaterPoisonsWhatWasQueuedBehindIt) {
  const Tensor x = data({1, 2});
  const Tensor first = x + 1;
  testing::inject(Fault::completion);
  step(faulty_device());
  const Tensor second = first * 2;  // recorded before anybody knows
  const Tensor other = x * 3;
  step(faulty_device());
  EXPECT_THROW((void)second.to_vector<float>(), BackendError);
  EXPECT_EQ(other.to_vector<float>(), (std::vector<float>{3, 6}));
}

/// A random graph over two inputs, and for each tensor which of the others it is computed from.
struct RandomDag {
  std::vector<Tensor> tensors;
  std::vector<std::vector<bool>> uses;  // uses[i][j]: i needs j; i needs itself

  RandomDag(std::uint64_t seed, const Tensor& x, const Tensor& y) {
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < 12; ++i) {
      std::vector<bool> needs(12);
      needs[i] = true;
      Tensor operands[2];
      for (Tensor& operand : operands) {
        const std::size_t pick = random() % (i + 2);
        if (pick >= i) {
          operand = pick == i ? x : y;
        } else {
          operand = tensors[pick];
          for (std::size_t j = 0; j < 12; ++j) needs[j] = needs[j] || uses[pick][j];
        }
      }
      tensors.push_back(random() % 2 == 0 ? operands[0] + operands[1] : operands[0] * operands[1]);
      uses.push_back(std::move(needs));
    }
  }
};

std::vector<float> value_or_nothing(const Tensor& tensor) {
  try {
    return tensor.to_vector<float>();
  } catch (const Error& error) {
    expect_injected(error);
    return {};
  }
}

TEST_F(Failures, E7_ExactlyWhatDependsOnTheFailedOpIsPoisoned) {
  const Tensor x = data({1, 2});
  const Tensor y = data({0.5F, -1});
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const RandomDag good(seed, x, y);
    step(faulty_device(), {.wait = true});
    for (std::size_t failing = 0; failing < 12; ++failing) {
      const RandomDag dag(seed, x, y);
      testing::inject(Fault::allocate, static_cast<int>(failing));  // each op allocates its result, in order
      step(faulty_device());
      for (std::size_t i = 0; i < 12; ++i) {
        const std::vector<float> right = good.tensors[i].to_vector<float>();
        ASSERT_EQ(value_or_nothing(dag.tensors[i]), dag.uses[i][failing] ? std::vector<float>{} : right)
            << "seed " << seed << ", op " << failing << " failed, tensor " << i;
      }
      EXPECT_THROW(wait({faulty_device()}), MemoryError);
    }
  }
}

TEST_F(Failures, T7_E7_AFailureNamesTheLineOfItsOwnTraceAlsoWhenThePlanIsOlder) {
  const Tensor x = data({1, 2});
  std::string messages[2];
  const auto here = [&] { return x + 1; };
  const auto there = [&] { return x + 1; };
  const int lines[2] = {__LINE__ - 2, __LINE__ - 1};
  cache::clear();
  for (int i = 0; i < 2; ++i) {
    const Tensor y = i == 0 ? here() : there();
    testing::inject(Fault::allocate);
    step(faulty_device());
    try {
      (void)y.to_vector<float>();
    } catch (const Error& error) {
      messages[i] = error.what();
    }
    forget();
  }
  EXPECT_EQ(cache::info().entries, 1U);
  for (int i = 0; i < 2; ++i) {
    EXPECT_NE(messages[i].find("add: injected fault: allocation"), std::string::npos) << messages[i];
    EXPECT_NE(messages[i].find("failure_test.cpp:" + std::to_string(lines[i])), std::string::npos) << messages[i];
  }
}

TEST_F(Failures, E7_NothingLeaks) {
  const std::size_t before = memory(faulty_device()).live;
  const std::uint64_t alive = metrics::counter("tensor.created") - metrics::counter("tensor.destroyed");
  for (const Fault fault : kEveryFault) {
    for (int after = 0; after < 6; ++after) {
      testing::inject(fault, after);
      (void)program();
      testing::inject(Fault::none);
    }
  }
  forget();
  EXPECT_EQ(memory(faulty_device()).live, before);
  EXPECT_EQ(metrics::counter("tensor.created") - metrics::counter("tensor.destroyed"), alive);
}

}  // namespace
}  // namespace lento

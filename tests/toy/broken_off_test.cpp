// Failures at awkward moments: something was queued already, or its end could not be told.
#include "toy/toy.h"

#include <lento/memory.h>
#include <lento/metrics.h>

#include <functional>
#include <string>

namespace lento::test {
namespace {

class ToyBrokenOff : public Toy {
 protected:
  static std::string failure_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  static std::string failure_of(const Tensor& x) {
    return failure_of([&] { (void)x.to_vector<float>(); });
  }
  static std::size_t bytes_on_toys() { return memory(device(0)).live + memory(device(1)).live; }
};

TEST_F(ToyBrokenOff, E7_AStepWhoseEndCannotBeToldIsNotBegun) {
  const Tensor x = on_toy({1, 2});
  wait();
  const std::size_t before = bytes_on_toys();
  {
    const Tensor y = x + 1;
    toy::fail_at(toy::Fault::fence);
    const std::uint64_t launches = metrics::counter("launch.device");
    EXPECT_NO_THROW(step(device()));
    EXPECT_NE(failure_of(y).find("a test forbids a fence"), std::string::npos) << failure_of(y);
    EXPECT_EQ(metrics::counter("launch.device"), launches);
    EXPECT_EQ((x + 1).to_vector<float>(), (Floats{2, 3}));
  }
  forget_failures();
  EXPECT_EQ(bytes_on_toys(), before);
}

TEST_F(ToyBrokenOff, D3_E7_ACopyWhoseEndCannotBeToldIsNotBegun) {
  const Tensor x = on_toy({1, 2});
  wait();
  const std::size_t before = bytes_on_toys();
  for (const Device to : {Device("cpu"), device(1)}) {
    toy::fail_at(toy::Fault::fence);
    const Tensor moved = to_device(x, to);
    EXPECT_NE(failure_of(moved).find("a test forbids a fence"), std::string::npos) << failure_of(moved);
    forget_failures();
  }
  EXPECT_EQ(bytes_on_toys(), before);
  EXPECT_EQ(to_device(x, device(1)).to_vector<float>(), (Floats{1, 2}));
}

TEST_F(ToyBrokenOff, E7_AReadThatFailsLeavesTheValueAsItWas) {
  const Tensor x = computed_on_toy({1, 2});
  toy::fail_at(toy::Fault::fence);
  EXPECT_NE(failure_of(x).find("a test forbids a fence"), std::string::npos);
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 2}));
}

TEST_F(ToyBrokenOff, E7_ASubmissionThatCannotBeginPoisonsWhatItWouldHaveComputed) {
  const Tensor x = on_toy({3, 1, 2});
  wait();
  const std::size_t before = bytes_on_toys();
  {
    const Tensor y = sort(x);
    toy::fail_at(toy::Fault::submission);
    EXPECT_NO_THROW(step(device()));
    EXPECT_NE(failure_of(y).find("a test forbids a submission to begin"), std::string::npos) << failure_of(y);
    EXPECT_EQ(sort(x).to_vector<float>(), (Floats{1, 2, 3}));
  }
  forget_failures();
  EXPECT_EQ(bytes_on_toys(), before);
}

TEST_F(ToyBrokenOff, E7_ASubmissionThatCannotEndPoisonsItsRun) {
  Tensor x = on_toy({3, 1, 2});
  wait();
  const std::size_t before = bytes_on_toys();
  {
    const Tensor y = sort(x);
    toy::fail_at(toy::Fault::submission, 1);
    EXPECT_NO_THROW(step(device()));
    const Tensor later = y + 1;
    EXPECT_NO_THROW(step(device()));
    EXPECT_NE(failure_of(y).find("a test forbids a submission to end"), std::string::npos) << failure_of(y);
    EXPECT_NE(failure_of(y).find("broken_off_test.cpp:"), std::string::npos) << failure_of(y);
    EXPECT_EQ(failure_of(later), failure_of(y));
    EXPECT_EQ(sort(x).to_vector<float>(), (Floats{1, 2, 3}));
  }
  forget_failures();
  EXPECT_EQ(bytes_on_toys(), before);
}

// The device ends the process when somebody waits for it within a submission, or queues outside of one.
TEST_F(ToyBrokenOff, D6_E7_ARunWithADetourHasASubmissionOnEitherSide) {
  toy::set_support(toy::Support::few);
  const Tensor x = on_toy({3, 1, 2});
  wait();
  // A submission before the detour and one behind it are four events.
  for (int event = 0; event <= 4; ++event) {
    const Tensor y = sort(x * 2) + 1;
    toy::fail_at(toy::Fault::submission, event);
    step(device());
    if (event == 4) {
      EXPECT_EQ(y.to_vector<float>(), (Floats{3, 5, 7}));
    } else {
      EXPECT_NE(failure_of(y).find("a test forbids a submission"), std::string::npos) << event;
    }
    forget_failures();
  }
}

// Found by reading: a run that broke off let the thread that stepped wait, and freed what the device was using.
TEST_F(ToyBrokenOff, D3_E7_WhatARunUsesLivesUntilTheDeviceHasDoneWhatWasQueued) {
  Tensor x = on_toy({3, 1, 2});
  wait();
  const std::size_t before = bytes_on_toys();
  HeldQueue computing(device(), Queue::compute);
  {
    const Tensor y = x * 2;
    toy::fail_at(toy::Fault::submission, 1);
    step(device());
    EXPECT_EQ(live_tensors(device()).back().state, "running")
        << "it has failed, and the device is asked when it is over";
    x = Tensor();
  }
  EXPECT_EQ(bytes_on_toys(), before) << "x is there";
  computing.let_go_on();
  forget_failures();
  EXPECT_LT(bytes_on_toys(), before);
}

// Found by review: what was computed beside such a failure was computed by the host, which waited for the device in the
// thread that stepped, and counted fallbacks.
TEST_F(ToyBrokenOff, D1_E7_NoMemoryInTheMiddleOfARunPoisonsWhatDependsOnItWithoutAnyWait) {
  Tensor x = on_toy({3, 1, 2});
  const Tensor place = positions({2, 0, 1}, device());
  wait();
  const std::size_t before = bytes_on_toys();
  const auto fallbacks = [] {
    std::uint64_t total = 0;
    for (const auto& [name, value] : metrics::counters()) {
      if (name.starts_with("fallback.")) total += value;
    }
    return total;
  };
  const std::uint64_t fallbacks_before = fallbacks();
  int beside = 0;
  bool failed = true;
  for (int after = 0; failed; ++after) {
    {
      const Tensor sorted = sort(x);
      const Tensor tripled = x * 3;  // in one kernel with the next line
      const Tensor sum = sorted + tripled;
      const Tensor picked = take(sum, place, 0);
      toy::hold(true);  // whoever waits for the device waits for ever
      toy::fail_at(toy::Fault::allocate, after);
      EXPECT_NO_THROW(step(device()));
      toy::fail_at(toy::Fault::none);
      toy::hold(false);
      const auto right = [&](const Tensor& it, const Floats& value) {
        const std::string failure = failure_of(it);
        if (failure.empty()) {
          EXPECT_EQ(it.to_vector<float>(), value) << after;
        } else {
          EXPECT_NE(failure.find("a test forbids"), std::string::npos) << failure;
        }
        return failure.empty();
      };
      const bool has_sorted = right(sorted, {1, 2, 3}), has_tripled = right(tripled, {9, 3, 6});
      const bool has_sum = right(sum, {10, 5, 9}), has_picked = right(picked, {9, 10, 5});
      EXPECT_TRUE(has_sum <= (has_sorted && has_tripled)) << "it depends on both";
      EXPECT_TRUE(has_picked <= has_sum);
      if (has_tripled && !has_sorted) ++beside;
      failed = !has_picked;
    }
    forget_failures();
    EXPECT_EQ(bytes_on_toys(), before) << after;
    ASSERT_LT(after, 50);
  }
  EXPECT_GT(beside, 0) << "what does not depend on the failure is there";
  EXPECT_EQ(fallbacks(), fallbacks_before);
}

// Found by review: where there was no memory to stand in for an operand that had failed, all of the run had.
TEST_F(ToyBrokenOff, E7_NoMemoryInPlaceOfAFailedOperandPoisonsWhatReadsItAlone) {
  const Tensor x = on_toy({3, 1, 2});
  wait();
  for (int after = 0; after < 6; ++after) {
    SCOPED_TRACE(after);
    toy::hold(true);  // nobody but the device knows of the failure while the next lines are recorded
    const Tensor bad = sort(x);
    toy::fail_at(toy::Fault::allocate);
    step(device());
    const Tensor worse = bad + 1;
    const Tensor sums = cumulative_sum(x), sorted = sort(x);
    toy::fail_at(toy::Fault::allocate, after);
    step(device());
    toy::fail_at(toy::Fault::none);
    toy::hold(false);
    EXPECT_NE(failure_of(worse).find("a test forbids"), std::string::npos);
    EXPECT_TRUE(failure_of(sums).empty() || failure_of(sorted).empty()) << "only one of them has found no memory";
    forget_failures();
  }
}

TEST_F(ToyBrokenOff, E7_ALossInTheMiddleOfARunPoisonsAll) {
  for (int after = 0; after < 8; ++after) {
    const Tensor x = on_toy({3, 1, 2});
    wait();
    const Tensor y = sort(x * 2) + 1;
    toy::fail_at(toy::Fault::loss, after);
    std::string failure = failure_of([] { step(device()); });
    if (failure.empty()) failure = failure_of(y);
    toy::fail_at(toy::Fault::none);
    if (device().is_lost()) {
      EXPECT_NE(failure_of(y).find("toy:0 is lost"), std::string::npos) << failure_of(y);
    } else {
      EXPECT_EQ(y.to_vector<float>(), (Floats{3, 5, 7}));
    }
    forget_failures();
    if (device().is_lost()) break;
  }
  EXPECT_TRUE(device().is_lost());
}

}  // namespace
}  // namespace lento::test

// What is found out only on the device, and what the device cannot do.
#include "toy/toy.h"

#include <lento/memory.h>
#include <lento/metrics.h>

#include <string>
#include <thread>

namespace lento::test {
namespace {

class ToyFailures : public Toy {
 protected:
  /// Takes from three elements what is not there, in a step that the device has not begun: nobody knows that it fails.
  static Tensor bad_take_under_way(const Tensor& x) {
    const Tensor place = positions({0, 1, 9}, device());
    wait();
    toy::hold(true);
    Tensor bad = take(x, place, 0);
    step(device());
    return bad;
  }
};

std::string message_of(const Tensor& x) {
  try {
    (void)x.to_vector<float>();
  } catch (const IndexError& error) {
    return error.what();
  }
  return "";
}

TEST_F(ToyFailures, D4_ALateFailurePoisonsExactlyWhatDependsOnIt) {
  const Tensor table = on_toy(Floats(128, 1)).reshape({4, 32});
  const Tensor good = positions({1, -4}, device());
  const Tensor bad = positions({1, 4}, device());
  for (const bool fuse : {true, false}) {
    const OptionsScope scope([&] {
      Options changed = options();
      changed.fusion = fuse;
      return changed;
    }());
    toy::hold(true);
    const Tensor a = take(table, good, 0) + 1;
    const Tensor b = take(table, bad, 0) * 2;
    const Tensor c = sum(a);
    EXPECT_NO_THROW(step(device())) << "nothing is known yet";
    const Tensor later = b + 1;
    const Tensor other = c * 3;
    EXPECT_NO_THROW(step(device()));
    toy::hold(false);
    EXPECT_EQ(c.to_vector<float>(), Floats{128});
    EXPECT_EQ(other.to_vector<float>(), Floats{384});
    EXPECT_NE(message_of(b).find("index 4 is out of range"), std::string::npos) << message_of(b);
    EXPECT_NE(message_of(b).find("failures_test.cpp:"), std::string::npos) << message_of(b);
    EXPECT_EQ(message_of(later), message_of(b));
    EXPECT_THROW(wait({device()}), IndexError);
    EXPECT_NO_THROW(wait({device()})) << "a failure is told once";
  }
}

TEST_F(ToyFailures, D4_WhatComesAfterAFailureStaysInItsBuffers) {
  const Tensor table = on_toy(Floats(128, 1)).reshape({4, 32});
  Tensor x = take(table, positions({99, -99}, device()), 0);
  step(device());
  for (int i = 0; i < 10; ++i) {
    x = take(x, positions({0, 1}, device()), 0) + 1;
    step(device());
  }
  EXPECT_NE(message_of(x).find("index -99"), std::string::npos) << message_of(x);
  EXPECT_EQ(sum(table).to_vector<float>(), Floats{128});
}

// Found by random programs: an op that read a poisoned value told of a failure of its own.
TEST_F(ToyFailures, E7_WhatReadsAPoisonedValueTellsOfTheFailureThatPoisonedIt) {
  const Tensor table = on_toy(Floats(8, 1)).reshape({4, 2});
  for (const bool in_one_step : {true, false}) {
    const Tensor bad = take(table, positions({9, 0}, device()), 0);
    if (!in_one_step) step(device());
    const Tensor worse = take(bad, positions({77}, device()), 0);
    const Tensor other = take(table, positions({66}, device()), 0);
    step(device());
    EXPECT_NE(message_of(worse).find("index 9"), std::string::npos) << message_of(worse);
    EXPECT_EQ(message_of(worse), message_of(bad));
    EXPECT_NE(message_of(other).find("index 66"), std::string::npos) << message_of(other);
  }
}

TEST_F(ToyFailures, D3_APoisonedValueStaysPoisonedOnOtherDevices) {
  const Tensor table = on_toy(Floats(128, 1)).reshape({4, 32});
  toy::hold(true);
  const Tensor bad = take(table, positions({7}, device()), 0);
  const Tensor moved = to_device(bad, device(1)) + 1;
  const Tensor home = to_device(moved, Device()) + 1;
  eval({home});
  toy::hold(false);
  EXPECT_NE(message_of(home).find("index 7"), std::string::npos) << message_of(home);
  EXPECT_EQ(message_of(moved), message_of(home));
}

TEST_F(ToyFailures, D6_WhatTheDeviceLacksRunsOnTheCpuDeviceAndIsCounted) {
  for (const auto& [support, expected] : {std::pair{toy::Support::all, 0U}, std::pair{toy::Support::kernels, 1U}}) {
    toy::set_support(support);
    cache::clear();
    const Tensor x = on_toy({3, 1, 2});
    const std::uint64_t before = metrics::counter("fallback.sort_values");
    const std::uint64_t copies = metrics::counter("transfer.d2h");
    const Tensor y = sort(x * 2) + 1;
    step(device());
    EXPECT_EQ(y.to_vector<float>(), (Floats{3, 5, 7}));
    EXPECT_EQ(metrics::counter("fallback.sort_values") - before, expected);
    EXPECT_EQ(metrics::counter("transfer.d2h") - copies, 1 + expected) << "one for the read";
  }
}

TEST_F(ToyFailures, D6_ForcedFallbacksAreCountedOnceOnEveryDevice) {
  const OptionsScope scope([] {
    Options changed = options();
    changed.force_fallback = "exp";
    return changed;
  }());
  for (const Device where : {Device("cpu"), device()}) {
    const std::uint64_t before = metrics::counter("fallback.exp");
    EXPECT_EQ(exp(on(where, {0})).to_vector<float>(), Floats{1});
    EXPECT_EQ(metrics::counter("fallback.exp") - before, 1) << where;
  }
}

TEST_F(ToyFailures, D6_StepsWithFallbacksDoNotWaitEither) {
  toy::set_support(toy::Support::few);
  cache::clear();
  const Tensor x = on_toy({3, 1, 2});
  toy::hold(true);
  const Tensor y = cumulative_sum(sort(x));
  step(device());
  const Tensor z = y * 2;
  step(device());
  toy::hold(false);
  EXPECT_EQ(z.to_vector<float>(), (Floats{2, 6, 12}));
}

// Found by review: the thread that stepped waited for the device.
TEST_F(ToyFailures, D1_E7_AStepBesideAFailureDoesNotWaitEither) {
  toy::set_support(toy::Support::few);
  const Tensor x = on_toy({3, 1, 2});
  const Tensor bad = bad_take_under_way(x);
  const Tensor good = x * 2;  // in one kernel with the next line, which is recorded before it is known to fail
  const Tensor worse = good + bad;
  toy::hold(false);
  forget_failures();
  toy::hold(true);
  step(device());
  EXPECT_EQ(live_tensors(device()).back().state, "running");
  toy::hold(false);
  EXPECT_EQ(good.to_vector<float>(), (Floats{6, 2, 4}));
  EXPECT_NE(message_of(worse).find("index 9"), std::string::npos) << message_of(worse);
}

TEST_F(ToyFailures, E7_AFallbackThatFailsPoisonsItsResult) {
  toy::set_support(toy::Support::few);
  cache::clear();
  const Tensor table = on_toy({1, 2, 3});
  const Tensor bad = take(table, positions({0, 5}, device()), 0);
  const Tensor good = table + 1;
  step(device());
  EXPECT_EQ(good.to_vector<float>(), (Floats{2, 3, 4}));
  EXPECT_NE(message_of(bad + 1).find("index 5 is out of range"), std::string::npos) << message_of(bad);
}

/// Two reshapes are the value that they reshape; the broadcast between them has no memory to be fetched.
TEST_F(ToyFailures, D6_AViewWithoutMemoryBetweenOpsThatFallBackIsTakenAlong) {
  toy::set_support(toy::Support::few);
  const Tensor x = on_toy({1, 2, 3, 4, 5, 6});
  const Tensor taken = take(x, positions({5, 4, 3, 2, 1, 0}, device()), 0);
  const Tensor seen = reshape(broadcast_to(taken, {1, 6}), {3, 1, 2});
  const Tensor largest = max(seen, Ints{0});
  step(device());
  EXPECT_EQ(largest.to_vector<float>(), (Floats{6, 5}));
  EXPECT_EQ(seen.to_vector<float>(), (Floats{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(taken.to_vector<float>(), (Floats{6, 5, 4, 3, 2, 1}));
}

TEST_F(ToyFailures, D6_NeighbouringOpsThatFallBackAreOneDetour) {
  toy::set_support(toy::Support::few);
  const Tensor x = on_toy({3, 1, 2, 4});
  const std::uint64_t downloads = metrics::counter("transfer.d2h");
  const std::uint64_t uploads = metrics::counter("transfer.h2d");
  const std::uint64_t sorts = metrics::counter("fallback.sort_values");
  {
    const Tensor y = flip(cumulative_sum(sort(x)).reshape({2, 2}), Ints{0}) * 2;
    step(device());
    wait();
    EXPECT_EQ(metrics::counter("transfer.d2h") - downloads, 1);
    EXPECT_EQ(metrics::counter("transfer.h2d") - uploads, 1);
    EXPECT_EQ(metrics::counter("fallback.sort_values") - sorts, 1);
    EXPECT_EQ(y.to_vector<float>(), (Floats{12, 20, 2, 6}));
  }
  // What somebody else wants comes back too.
  const std::uint64_t before = metrics::counter("transfer.h2d");
  const Tensor sorted = sort(x);
  const Tensor sums = cumulative_sum(sorted);
  step(device());
  EXPECT_EQ(sums.to_vector<float>(), (Floats{1, 3, 6, 10}));
  EXPECT_EQ(sorted.to_vector<float>(), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(metrics::counter("transfer.h2d") - before, 2);
}

TEST_F(ToyFailures, D6_E7_InADetourExactlyWhatDependsOnAFailureIsPoisoned) {
  toy::set_support(toy::Support::few);
  const Tensor x = on_toy({3, 1, 2});
  const Tensor bad = take(x, positions({9}, device()), 0);
  const Tensor worse = sort(bad);
  const Tensor good = sort(x);
  const Tensor better = cumulative_sum(good);
  step(device());
  EXPECT_NE(message_of(worse).find("index 9"), std::string::npos) << message_of(worse);
  EXPECT_EQ(message_of(worse), message_of(bad));
  EXPECT_NE(message_of(bad).find("failures_test.cpp:"), std::string::npos) << message_of(bad);
  EXPECT_EQ(better.to_vector<float>(), (Floats{1, 3, 6}));
  EXPECT_EQ(good.to_vector<float>(), (Floats{1, 2, 3}));
}

// Found by review: a result of the detour was to take the memory of the failed operand, which has none.
TEST_F(ToyFailures, D6_E7_AFailedOperandOfADetourGivesNoMemory) {
  toy::set_support(toy::Support::few);
  const Tensor x = on_toy({3, 1, 2});
  const Tensor bad = bad_take_under_way(x);
  const Tensor worse = sort(bad);  // recorded before it is known that `bad` has failed
  const Tensor good = cos(x);      // as large as `bad`, and `x` is read later
  const Tensor better = sort(x);
  toy::hold(false);
  forget_failures();
  step(device());
  EXPECT_EQ(good.to_vector<float>(), cos(on(Device("cpu"), {3, 1, 2})).to_vector<float>());
  EXPECT_EQ(better.to_vector<float>(), (Floats{1, 2, 3}));
  EXPECT_NE(message_of(worse).find("index 9"), std::string::npos) << message_of(worse);
}

// Found by review: the copy that was under way wrote into what was somebody else's by then.
TEST_F(ToyFailures, D6_E9_ADetourThatFindsNoMemoryKeepsWhatTheDeviceWrites) {
  toy::set_support(toy::Support::few);
  const Device host("cpu");
  const Floats zeros(10'000, 0);
  const std::size_t bytes = zeros.size() * sizeof(float);
  const Tensor x = on_toy(Floats(zeros.size(), 3));
  const Tensor y = on_toy(Floats(zeros.size(), 4));
  wait();
  HeldQueue downloads(device(), Queue::download);
  const std::uint64_t copies = metrics::counter("transfer.d2h");
  set_memory_limit(static_cast<std::int64_t>(memory(host).live + bytes + bytes / 2), host);
  const Tensor larger = maximum(x, y);
  step(device());
  while (metrics::counter("transfer.d2h") == copies) std::this_thread::yield();
  // There is memory for one operand, which is being copied into it, and none for the other.
  int taken = 0;
  for (int i = 0; i < 1000; ++i) {
    try {
      (void)on(host, zeros);
      ++taken;
    } catch (const MemoryError&) {
      std::this_thread::yield();
    }
  }
  downloads.let_go_on();
  EXPECT_EQ(larger.to_vector<float>(), Floats(zeros.size(), 4)) << "alone, the op needs no memory of the CPU device";
  set_memory_limit(0, host);
  EXPECT_EQ(taken, 0) << "the device still writes there";
}

// Found by review: where the CPU device had no memory for the inputs, everything of a detour was poisoned.
TEST_F(ToyFailures, E6_E7_WhatFailsAsAWholeInADetourIsTriedOneByOne) {
  toy::set_support(toy::Support::few);
  const Device host("cpu");
  const Floats many(10'000, 3);
  const Tensor x = on_toy(many);
  const Tensor place = positions({9, -10'001}, device());
  wait();
  set_memory_limit(static_cast<std::int64_t>(memory(host).live + many.size()), host);
  const std::uint64_t sorts = metrics::counter("fallback.sort_values");
  const Tensor bad = take(x, place, 0);
  const Tensor worse = cumulative_sum(bad);
  const Tensor sorted = sort(x);
  const Tensor sums = cumulative_sum(sorted);
  step(device());
  EXPECT_NE(message_of(bad).find("index -10001 is out of range"), std::string::npos) << message_of(bad);
  EXPECT_EQ(message_of(worse), message_of(bad));
  EXPECT_EQ(sorted.to_vector<float>(), many);
  EXPECT_EQ(sums.to_vector<float>().back(), 30'000);
  EXPECT_EQ(metrics::counter("fallback.sort_values") - sorts, 1);
  set_memory_limit(0, host);
}

TEST_F(ToyFailures, E7_AResultOfADetourThatFindsNoMemoryIsPoisonedAlone) {
  toy::set_support(toy::Support::few);
  const Tensor x = on_toy({3, 1, 2});
  wait();
  const Tensor sorted = sort(x);
  const Tensor sums = cumulative_sum(x);
  toy::fail_at(toy::Fault::allocate);  // of the first result; what is computed on the host has its memory there
  step(device());
  EXPECT_THROW((void)sorted.to_vector<float>(), MemoryError);
  EXPECT_EQ(sums.to_vector<float>(), (Floats{3, 4, 6}));
}

TEST_F(ToyFailures, D4_D6_WhatFailedOnTheDeviceIsToldAfterADetour) {
  toy::set_support(toy::Support::kernels);
  const Tensor table = on_toy({1, 2, 3});
  const Tensor picked = take(table, positions({0, 7}, device()), 0);
  const Tensor sums = cumulative_sum(sort(picked));
  step(device());
  EXPECT_NE(message_of(sums).find("index 7"), std::string::npos) << message_of(sums);
}

TEST_F(ToyFailures, D6_FallbacksCanBeForbidden) {
  toy::set_support(toy::Support::few);
  const Tensor x = on_toy({3, 1, 2});
  const Tensor y = cumulative_sum(sort(x * 2));
  int called = 0;
  add_step_closure([&called](const std::vector<Tensor>&) { ++called; }, {y}, false, device());
  for (int i = 0; i < 2; ++i) {
    const OptionsScope scope([] {
      Options changed = options();
      changed.fallback = FallbackMode::error;
      return changed;
    }());
    try {
      step(device());
      ADD_FAILURE() << "nothing was raised";
    } catch (const BackendError& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with("step: toy:0 has no code for `")) << message;
      EXPECT_NE(message.find("sort"), std::string::npos) << message;
      EXPECT_NE(message.find("cumulative_sum"), std::string::npos) << message;
      EXPECT_NE(message.find("failures_test.cpp:"), std::string::npos) << message;
    }
    EXPECT_TRUE(y.is_pending());
    EXPECT_EQ(called, 0);
    EXPECT_EQ((x + 1).to_vector<float>(), (Floats{4, 2, 3})) << "what the device can do is done";
  }
  step(device());
  EXPECT_EQ(called, 1);
  EXPECT_EQ(y.to_vector<float>(), (Floats{2, 6, 12}));
}

TEST_F(ToyFailures, D6_AStepThatIsReplayedIsForbiddenToo) {
  toy::set_support(toy::Support::few);
  const Tensor x = on_toy({3, 1, 2});
  for (int i = 0; i < 3; ++i) {
    const Tensor y = sort(x);
    step(device());
  }
  const OptionsScope scope([] {
    Options changed = options();
    changed.fallback = FallbackMode::error;
    return changed;
  }());
  const Tensor y = sort(x);
  EXPECT_THROW(step(device()), BackendError);
}

TEST_F(ToyFailures, D6_ExplainTellsWhatRanOnTheCpuDevice) {
  toy::set_support(toy::Support::few);
  const Tensor x = on_toy({3, 1, 2});
  (void)explain();
  for (int i = 0; i < 3; ++i) {
    const Tensor y = sort(x) + 1;
    step(device());
  }
  const std::string text = explain();
  EXPECT_NE(text.find("Ran `sort` (`sort_values`) at failures_test.cpp:"), std::string::npos) << text;
  EXPECT_NE(text.find(" on the CPU device, since toy:0 has no code for it, 3 times."), std::string::npos) << text;
  EXPECT_NE(text.find("Copied 6 times between toy:0 and the host for that."), std::string::npos) << text;
  EXPECT_EQ(explain().find("CPU device"), std::string::npos) << "told once";
  wait();
  EXPECT_NE(metrics::report().find("fallback.sort_values"), std::string::npos);
}

}  // namespace
}  // namespace lento::test

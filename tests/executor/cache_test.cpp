// The plan cache: what shares a plan, what does not, and that it stays bounded (clause E2); what explain() says (M3).
#include <lento/lento.h>

#include "backends/testing/testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace lento {
namespace {

class Cache : public ::testing::Test {
 protected:
  void SetUp() override {
    step();
    wait();
    cache::clear();
    (void)explain();
  }
};

struct Delta {
  std::uint64_t hits = metrics::counter("plan.hit");
  std::uint64_t misses = metrics::counter("plan.miss");
  std::uint64_t hit() const { return metrics::counter("plan.hit") - hits; }
  std::uint64_t miss() const { return metrics::counter("plan.miss") - misses; }
};

Tensor data(std::int64_t n, float value = 1) { return tensor(std::vector<float>(static_cast<std::size_t>(n), value)); }

TEST_F(Cache, E2_TheSecondStepOfTheSameStructureCompilesNothing) {
  Tensor x = data(8);
  const Delta delta;
  for (int i = 0; i < 10; ++i) {
    x = x * 0.5F + static_cast<float>(i);  // the numbers change, the structure does not
    step();
  }
  EXPECT_EQ(delta.miss(), 1U);
  EXPECT_EQ(delta.hit(), 9U);
  float expected = 1;
  for (int i = 0; i < 10; ++i) expected = expected * 0.5F + static_cast<float>(i);
  EXPECT_EQ(x.to_vector<float>()[7], expected);
}

TEST_F(Cache, E2_EvalAndStepOfTheSameGraphShareAPlan) {
  const Tensor x = data(4);
  const Tensor y = exp(x) + 1;
  eval(y);
  const Tensor z = exp(x) + 1;
  const Delta delta;
  step();
  EXPECT_EQ(delta.miss(), 0U);
  EXPECT_EQ(y.to_vector<float>(), z.to_vector<float>());
}

TEST_F(Cache, E2_SharedAndSeparateArgumentsAreDifferentStructures) {
  const Tensor x = data(3, 2);
  const Tensor y = data(3, 5);
  const Tensor square = x * x;
  eval(square);
  const Delta delta;
  const Tensor product = x * y;
  eval(product);
  EXPECT_EQ(delta.miss(), 1U);
  EXPECT_EQ(square.to_vector<float>()[0], 4);
  EXPECT_EQ(product.to_vector<float>()[0], 10);
}

TEST_F(Cache, E2_AThreadThatReadsTheSameTensorMeanwhileChangesNoStructure) {
  const Tensor x = data(3, 2);
  const auto record = [&](auto&& in_between) {
    Tensor y = x + 1;
    in_between();
    y = y * x;
    in_between();
    return y - x;
  };
  const Tensor alone = record([] {});
  const std::uint64_t key = graph_key({alone});
  const Tensor disturbed = record([&] {
    std::thread([&] { (void)(x + x); }).join();  // takes over the value's hint
  });
  EXPECT_EQ(dump({disturbed}).find("%in1"), std::string::npos) << dump({disturbed});
  EXPECT_EQ(graph_key({disturbed}), key);
  EXPECT_EQ(disturbed.to_vector<float>(), (std::vector<float>{4, 4, 4}));
}

TEST_F(Cache, E2_ThreadsThatMissOnTheSameKeyCompileOnce) {
  const Tensor x = data(1000);
  constexpr int kThreads = 4;
  std::latch together(kThreads);
  const Delta delta;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      Tensor y = x + 1;
      for (int i = 0; i < 200; ++i) y = sin(y) * 1.5F;
      together.arrive_and_wait();
      eval(y);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(delta.miss(), 1U);
  EXPECT_EQ(delta.hit(), kThreads - 1U);
}

TEST_F(Cache, E2_IsBoundedInBytesAndEvictsTheLeastRecentlyUsed) {
  const std::size_t limit = cache::info().limit;
  cache::set_limit(20'000);
  const std::uint64_t evicted = metrics::counter("plan.evict");
  for (std::int64_t n = 1; n <= 200; ++n) eval(data(n) + 1);
  EXPECT_LE(cache::info().bytes, 20'000U);
  EXPECT_GT(metrics::counter("plan.evict") - evicted, 100U);
  const Delta delta;
  eval(data(200) + 1);
  EXPECT_EQ(delta.hit(), 1U);  // the newest is still there
  eval(data(1) + 1);
  EXPECT_EQ(delta.miss(), 1U);  // the oldest is not
  cache::set_limit(limit);
}

TEST_F(Cache, E2_APlanThatIsReplayedAllTheTimeIsNotTheLeastRecentlyUsed) {
  const std::size_t saved = cache::info().limit;
  const Tensor x = data(4);
  const auto hot = [&] {
    const Tensor y = exp(x) + 1;
    step();
  };
  hot();
  const std::uint64_t key = cache::plans().at(0).key;
  cache::set_limit(cache::info().bytes * 4);
  for (std::int64_t n = 10; n < 30; ++n) {
    hot();  // recognised by the thread, without a look into the cache
    (void)(exp(data(n)) + 1).to_vector<float>();
  }
  const std::vector<cache::PlanInfo> plans = cache::plans();
  EXPECT_LT(plans.size(), 10U);
  EXPECT_TRUE(std::ranges::any_of(plans, [&](const cache::PlanInfo& plan) { return plan.key == key; }));
  cache::set_limit(saved);
}

TEST_F(Cache, E2_ClearAndRemoveForgetPlansEverywhere) {
  const auto one_step = [x = data(4)] {
    const Tensor y = x * 3;
    const std::uint64_t key = graph_key({y});
    step();
    return key;
  };
  const std::uint64_t key = one_step();
  EXPECT_NE(key, 0U);
  EXPECT_EQ(one_step(), key);
  EXPECT_EQ(cache::info().entries, 1U);
  EXPECT_TRUE(cache::remove(key));
  EXPECT_FALSE(cache::remove(key));
  const Delta delta;
  one_step();
  EXPECT_EQ(delta.miss(), 1U);  // also the thread's own memory of the last steps has let go
  cache::clear();
  one_step();
  EXPECT_EQ(delta.miss(), 2U);
}

TEST_F(Cache, E2_TheGraphKeyIsTheKeyOfWhatEvalRuns) {
  const Tensor x = data(4);
  const Tensor kept = x * 2;  // alive: computing y computes and keeps it
  const Tensor y = kept + 1;
  const std::uint64_t key = graph_key({y});
  eval(y);
  EXPECT_TRUE(cache::remove(key));
  EXPECT_EQ(graph_key({y}), 0U);
  Tensor elsewhere;
  std::thread([&] { elsewhere = x + 3; }).join();
  EXPECT_THROW((void)graph_key({x + 1, elsewhere}), ValueError);
  EXPECT_THROW((void)dump({x + 1, elsewhere}), ValueError);
}

TEST_F(Cache, E2_AKeyThatSeveralPlansHaveByChanceRunsNone) {
  const Tensor x = data(2);
  const Tensor doubled = x * 2;
  const std::uint64_t key = graph_key({doubled});
  eval(doubled);
  const Tensor more = x + 1;
  eval(more);
  EXPECT_EQ(cache::info().entries, 2U);
#ifdef LENTO_CONSTANT_HASH
  EXPECT_THROW((void)cache::run(key, {x}), ValueError);
#else
  EXPECT_EQ(cache::run(key, {doubled})[0].to_vector<float>(), (std::vector<float>{4, 4}));
#endif
}

TEST_F(Cache, E2_PlansPinNoBuffers) {
  const std::size_t before = memory().live;
  {
    const Tensor x = data(1 << 16);
    eval(x + 1);
    wait();
  }
  EXPECT_EQ(cache::info().entries, 1U);
  EXPECT_EQ(memory().live, before);
}

TEST_F(Cache, E2_AlternatingStepsAreBothRecognised) {
  Tensor x = data(4);
  const Delta delta;
  for (int i = 0; i < 20; ++i) {
    x = i % 3 == 0 ? x + 1 : x * 2;
    step();
  }
  EXPECT_EQ(delta.miss(), 2U);
  EXPECT_EQ(delta.hit(), 18U);
}

// --- capture ---

TEST_F(Cache, E2_ACapturedComputationRunsWithOtherInputs) {
  const Tensor weight = tensor({10.0F, 20.0F});
  const Tensor x = tensor({1.0F, 2.0F});
  const Tensor y = tensor({3.0F, 4.0F});
  const Tensor sum = x * weight + y;
  const cache::Captured captured = cache::capture({y, x}, {sum, x, sum * 2, weight});
  EXPECT_NE(captured.key(), 0U);
  const Tensor a = tensor({5.0F, 6.0F});
  const Tensor b = tensor({7.0F, 8.0F});
  const std::uint64_t misses = metrics::counter("plan.miss");
  const std::vector<Tensor> outputs = captured({a, b});
  ASSERT_EQ(outputs.size(), 4U);
  EXPECT_EQ(outputs[0].to_vector<float>(), (std::vector<float>{75, 166}));
  EXPECT_EQ(outputs[1].to_vector<float>(), (std::vector<float>{7, 8}));
  EXPECT_EQ(outputs[2].to_vector<float>(), (std::vector<float>{150, 332}));
  EXPECT_EQ(outputs[3].to_vector<float>(), (std::vector<float>{10, 20}));
  EXPECT_EQ(metrics::counter("plan.miss"), misses);
  cache::clear();  // it needs no plan that is cached
  EXPECT_EQ(captured({b, a})[0].to_vector<float>(), (std::vector<float>{57, 128}));
  EXPECT_EQ(sum.to_vector<float>(), (std::vector<float>{13, 44})) << "what was recorded is computed as well";
}

TEST_F(Cache, E2_ACapturedComputationTakesItsInputsAndNoOthers) {
  const Tensor x = tensor({1.0F, 2.0F});
  const Tensor pending = x + 1;
  EXPECT_THROW((void)cache::capture({pending}, {pending * 2}), ValueError);
  EXPECT_THROW((void)cache::capture({x, x}, {x * 2}), ValueError);
  const cache::Captured captured = cache::capture({x}, {x + 2});
  EXPECT_THROW((void)captured({}), ValueError);
  EXPECT_THROW((void)captured({x, x}), ValueError);
  EXPECT_THROW((void)captured({tensor({1.0F})}), ValueError);
  EXPECT_THROW((void)captured({tensor({1, 2})}), ValueError);
  EXPECT_THROW((void)cache::Captured()({x}), ValueError);
  EXPECT_EQ(cache::Captured().key(), 0U);
  EXPECT_EQ(cache::capture({x}, {x})({tensor({3.0F, 4.0F})})[0].to_vector<float>(), (std::vector<float>{3, 4}));
}

TEST_F(Cache, E9_WhatACapturedComputationHoldsIsListedAsBefore) {
  const Tensor weight = tensor({10.0F, 20.0F});
  const auto listed = [&] { return std::ranges::count(live_tensors(), weight.id(), &LiveTensor::id); };
  {
    const Tensor x = tensor({1.0F, 2.0F});
    const cache::Captured captured = cache::capture({x}, {x * weight});
    EXPECT_EQ(listed(), 1);
  }
  EXPECT_EQ(listed(), 1) << "the captured computation took the tensor with it when it went";
}

// --- explain ---

std::string difference(auto&& first, auto&& second) {
  first();
  step();
  (void)explain();
  second();
  step();
  return explain();
}

void expect_says(const std::string& text, std::string_view words) {
  EXPECT_NE(text.find(words), std::string::npos) << text;
  EXPECT_NE(text.find("cache_test.cpp:"), std::string::npos) << text;
}

TEST_F(Cache, M3_AChangedShape) {
  Tensor y;
  const auto run = [&](std::int64_t n) { y = exp(data(n)) * 2; };
  expect_says(difference([&] { run(8); }, [&] { run(7); }), "argument 0 is float32(7,) and was float32(8,)");
}

TEST_F(Cache, M3_AChangedAttribute) {
  const Tensor x = tensor({{1.0F, 2.0F}, {3.0F, 4.0F}});
  Tensor y;
  const auto run = [&](std::int64_t axis) { y = sum(x, Ints{axis}); };
  expect_says(difference([&] { run(0); }, [&] { run(1); }), "an attribute changed");
}

TEST_F(Cache, M3_ANumberThatDecidedStructure) {
  const Tensor x = data(4);
  Tensor y;
  const auto run = [&](double exponent) { y = pow(x, exponent); };
  const std::string text = difference([&] { run(2); }, [&] { run(2.5); });
  expect_says(text, "general_pow");
  expect_says(text, "multiply");
}

TEST_F(Cache, M3_ALeftoverVariable) {
  const Tensor x = data(4);
  Tensor y;
  Tensor leftover;
  const auto run = [&](bool keep) {
    const Tensor middle = exp(x);
    y = middle + 1;
    if (keep) leftover = middle;
  };
  expect_says(difference([&] { run(false); }, [&] { run(true); }), "is a variable still holding it?");
}

TEST_F(Cache, M3_AnArgumentSharedDifferently) {
  const Tensor a = data(4);
  const Tensor b = data(4);
  Tensor y;
  expect_says(difference([&] { y = a + b; }, [&] { y = a + a; }), "arguments are shared differently");
}

TEST_F(Cache, M3_AnotherOp) {
  const Tensor x = data(4);
  Tensor y;
  expect_says(difference([&] { y = sin(x); }, [&] { y = cos(x); }), "op 0 is `cos(%in0)`");
}

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_F(Cache, M3_WhatRepeatsIsOneFindingWithItsCountAndShapes) {
  Tensor y;
  int line = 0;
  for (std::int64_t n = 2; n <= 98; ++n) {
    y = exp(data(n)) * 2;
    line = __LINE__ - 1;
    step({}, {.wait = true});  // no device is left so far behind that step waits for room, which would be told too
  }
  const std::string text = explain();
  const std::string where = "cache_test.cpp:" + std::to_string(line);
  // The reference backend compiles nothing, so that every new shape is a compile.
  EXPECT_EQ(line_count(text), 2U) << text;
  expect_says(text, "96 times");
  expect_says(text,
              "a step of 2 ops that ends at " + where + ": argument 0 is float32(3 to 98,); it is first read by ");
}

TEST_F(Cache, M3_DifferencesOfOneKindAreOneFindingWithTheLastOne) {
  const Tensor x = zeros({2, 2, 2});
  eval(x);
  (void)explain();
  Tensor y;
  for (const std::int64_t axis : {0, 1, 2}) {
    y = flip(x, Ints{axis});
    step();
  }
  const std::string text = explain();
  EXPECT_EQ(line_count(text), 2U) << text;
  expect_says(text, "Compiled 2 times a step of 1 op that ends at ");
  expect_says(text, ": the last time, an attribute changed: op 0 is ");
  EXPECT_NE(text.find("axes=[2]"), std::string::npos) << text;
}

TEST_F(Cache, M3_TheOpThatWasCalledIsNamed) {
  const Tensor x = tensor({{1.0F, 2.0F}, {3.0F, 4.0F}});
  Tensor y;
  const std::string text = difference([&] { y = sin(x); }, [&] { y = take(x, tensor({1}), 0); });
  expect_says(text, "op 0 is `take` (`take_axis(");
  expect_says(text, "and was `sin(%in0)` at cache_test.cpp:");
}

TEST_F(Cache, M3_WaitsForStartedWorkAreListedByLine) {
  testing::register_testing_backends();
  testing::gate::close();
  const Device device = testing::gated_device();
  const std::vector<float> one{1};
  const Tensor x = from_host(one.data(), DType::float32, Shape{1}, device);
  const Tensor y = x + 1;
  step(device);
  (void)explain();
  const std::uint64_t before = metrics::counter("sync.wait");
  std::thread opener([&] {
    while (metrics::counter("sync.wait") == before) std::this_thread::yield();
    testing::gate::open(1);
  });
  const int line = __LINE__ + 1;
  EXPECT_EQ(y.item<float>(), 2);
  opener.join();
  const std::string text = explain();
  EXPECT_TRUE(text.starts_with("Waited ")) << text;
  EXPECT_NE(text.find(" for a value that was being computed, 1 time at cache_test.cpp:" + std::to_string(line) + ".\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(y.item<float>(), 2);  // it is there
  EXPECT_EQ(explain(), "Nothing was compiled and nothing waited since the last call.\n");
}

TEST_F(Cache, M3_ImplicitSyncsAreListedByLine) {
  const Tensor x = data(4);
  (void)explain();
  const int line = __LINE__ + 1;
  for (int i = 0; i < 3; ++i) (void)(x + 1).to_vector<float>();
  const std::string text = explain();
  EXPECT_NE(text.find("Waited for a value 3 times at cache_test.cpp:" + std::to_string(line)), std::string::npos)
      << text;
  EXPECT_EQ(explain(), "Nothing was compiled and nothing waited since the last call.\n");
}

}  // namespace
}  // namespace lento

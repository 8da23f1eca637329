// What users can see of the engine: memory, live tensors, timings, plans, saved graphs, syncs (E8, E9, M1, M2).
#include <lento/lento.h>

#include "backends/testing/testing.h"
#include "base/timings.h"
#include "device_under_test.h"
#include "ir/graph.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace lento {
namespace {

std::optional<LiveTensor> find_live(const Tensor& tensor) {
  const std::vector<LiveTensor> all = live_tensors();
  const auto it = std::ranges::find(all, tensor.id(), &LiveTensor::id);
  return it == all.end() ? std::nullopt : std::optional(*it);
}

TEST(LiveTensors, E9_ListsEveryTensorWithItsState) {
  testing::register_testing_backends();
  testing::gate::close();
  const std::vector<float> one{1};
  const Tensor x = from_host(one.data(), DType::float32, Shape{1}, testing::gated_device());
  EXPECT_EQ(find_live(x)->state, "ready");
  const Tensor y = x + 1;
  const int line = __LINE__ - 1;
  EXPECT_EQ(find_live(y)->state, "pending");
  EXPECT_EQ(find_live(y)->source, "observe_test.cpp:" + std::to_string(line));
  EXPECT_EQ(find_live(y)->shape, Shape{1});
  EXPECT_EQ(find_live(y)->dtype, DType::float32);
  step(testing::gated_device());
  testing::gate::wait_for_arrivals(1);
  EXPECT_EQ(find_live(y)->state, "running");
  testing::gate::open(1);
  wait({testing::gated_device()});
  EXPECT_EQ(find_live(y)->state, "ready");
  EXPECT_EQ(find_live(y)->source, "observe_test.cpp:" + std::to_string(line));
  const Tensor bad = tensor({1.0F})[{tensor({5})}];
  eval(bad);
  EXPECT_THROW(wait(), IndexError);
  EXPECT_EQ(find_live(bad)->state, "failed");
}

TEST(LiveTensors, E9_ADroppedTensorIsGoneAndAnotherThreadsIsThere) {
  Tensor elsewhere;
  std::thread([&] { elsewhere = tensor({1.0F}) + 1; }).join();
  EXPECT_TRUE(find_live(elsewhere).has_value());
  const std::size_t before = live_tensors().size();
  {
    const Tensor pending = elsewhere * 2;
    const Tensor ready = tensor({2.0F});
    EXPECT_EQ(live_tensors().size(), before + 2);
  }
  EXPECT_EQ(live_tensors().size(), before);
}

TEST(LiveTensors, E10_CanBeListedWhileOtherThreadsWork) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&] {
      Tensor x = tensor({1.0F, 2.0F});
      while (!stop) {
        x = x * 0.5F + 1;
        const Tensor dropped = x + 1;
        step();
      }
      EXPECT_EQ(x.to_vector<float>().size(), 2U);
    });
  }
  for (int i = 0; i < 300; ++i) {
    for (const LiveTensor& live : live_tensors()) EXPECT_FALSE(live.state.empty());
  }
  stop = true;
  for (std::thread& worker : workers) worker.join();
}

TEST(Memory, E9_DroppingATensorReturnsItsMemory) {
  const std::size_t before = memory().live;
  {
    const Tensor x = zeros({1000});
    eval(x);
    wait();
    EXPECT_EQ(memory().live, before + 4000);
    EXPECT_GE(memory().peak, before + 4000);
  }
  EXPECT_EQ(memory().live, before);
}

TEST(Memory, E9_WhatDoesNotFitDisturbsNobodyWhoseTensorDoes) {
  set_memory_limit(memory().live + 100000);
  std::atomic<bool> stop{false};
  const std::vector<float> large(50000);
  std::thread greedy([&] {
    while (!stop) EXPECT_THROW((void)from_host(large.data(), DType::float32, Shape{50000}), MemoryError);
  });
  for (int i = 0; i < 20000; ++i) EXPECT_NO_THROW((void)from_host(large.data(), DType::float32, Shape{1}));
  stop = true;
  greedy.join();
  set_memory_limit(0);
}

TEST(Memory, E9_OverTheLimitIsAnErrorThatNamesThePeakAndTheLargestTensors) {
  const Tensor x = zeros({1000});
  eval(x);
  wait();
  const std::size_t live = memory().live;
  set_memory_limit(live + 10000);
  EXPECT_EQ(memory().limit, live + 10000);
  Tensor y = (x + 1) * 2;
  const Tensor wide = broadcast_to(y, {2, 1000}) + 3;
  const int line = __LINE__ - 1;
  try {
    step();
    ADD_FAILURE() << "it fits";
  } catch (const MemoryError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("planned peak of"), std::string::npos) << message;
    EXPECT_NE(message.find("add float32(2, 1000) with 8000 bytes at observe_test.cpp:" + std::to_string(line)),
              std::string::npos)
        << message;
  }
  EXPECT_TRUE(y.is_pending());
  EXPECT_THROW((void)from_host(std::vector<float>(5000).data(), DType::float32, Shape{5000}), MemoryError);
  set_memory_limit(0);
  EXPECT_EQ(wide.to_vector<float>(), std::vector<float>(2000, 5));
}

TEST(Memory, E9_AStepThatFitsOnceRunsUnderWayHaveEndedWaitsForThem) {
  testing::register_testing_backends();
  testing::gate::open_forever();
  const Device device = testing::gated_device();
  const std::vector<float> values(1000, 1);
  Tensor x = from_host(values.data(), DType::float32, Shape{1000}, device);
  set_memory_limit(memory(device).live + 12000, device);
  for (int i = 0; i < 20; ++i) {
    x = (x + 1) * 0.5F;
    EXPECT_NO_THROW(step(device));
  }
  set_memory_limit(0, device);
  EXPECT_EQ(x.to_vector<float>(), values);
  testing::gate::close();
}

TEST(Metrics, M1_TimingsHaveCountTotalAndPercentiles) {
  const TimingId id = timing_id("test.timing");
  for (int i = 1; i <= 100; ++i) record_timing(id, std::chrono::microseconds(i));
  const metrics::Timing timing = metrics::timing("test.timing");
  EXPECT_EQ(timing.count, 100U);
  EXPECT_NEAR(timing.total_seconds, 5050e-6, 1e-12);
  EXPECT_NEAR(timing.median_seconds, 50e-6, 1e-12);
  EXPECT_NEAR(timing.p90_seconds, 90e-6, 1e-12);
  EXPECT_NEAR(timing.p99_seconds, 99e-6, 1e-12);
  EXPECT_NEAR(timing.max_seconds, 100e-6, 1e-12);
  // Only the last 1024 count for percentiles.
  for (int i = 0; i < 1024; ++i) record_timing(id, std::chrono::microseconds(7));
  EXPECT_NEAR(metrics::timing("test.timing").max_seconds, 7e-6, 1e-12);
  EXPECT_EQ(metrics::timing("test.timing").count, 1124U);
  metrics::reset();
  EXPECT_EQ(metrics::timing("test.timing").count, 0U);
  EXPECT_EQ(metrics::timing("no such thing").count, 0U);
}

TEST(Metrics, M1_ARepeatedStepCountsWhatItDid) {
  cache::clear();
  const Tensor x = tensor({1.0F, 2.0F});
  metrics::reset();
  for (int i = 0; i < 3; ++i) {
    const Tensor y = x * 2 + 1;
    step();
  }
  wait();
  EXPECT_EQ(metrics::counter("step"), 3U);
  EXPECT_EQ(metrics::counter("op.multiply"), 3U);
  EXPECT_EQ(metrics::counter("op.add"), 3U);
  EXPECT_EQ(metrics::counter("plan.miss"), 1U);
  EXPECT_EQ(metrics::counter("plan.hit"), 2U);
  EXPECT_EQ(metrics::counter("tensor.created"), 6U);
  EXPECT_EQ(metrics::counter("tensor.destroyed"), 6U);
  EXPECT_EQ(metrics::counter("sync.implicit"), 0U);
  EXPECT_EQ(metrics::timing("step").count, 3U);
  EXPECT_EQ(metrics::timing("run").count, 3U);
  EXPECT_EQ(metrics::timing("plan.compile").count, 1U);
}

TEST(Metrics, M1_CountersAndTimingsOfTheUsersOwn) {
  metrics::reset();
  metrics::add("my.batches");
  metrics::add("my.batches", 4);
  metrics::record("my.load", 0.25);
  {
    const metrics::Timed timed("my.load");
  }
  EXPECT_EQ(metrics::counter("my.batches"), 5U);
  EXPECT_EQ(metrics::counters().at("my.batches"), 5U);
  EXPECT_EQ(metrics::timing("my.load").count, 2U);
  EXPECT_GE(metrics::timing("my.load").total_seconds, 0.25);
  EXPECT_NE(metrics::report().find("my.batches"), std::string::npos);
  EXPECT_NE(metrics::report().find("my.load"), std::string::npos);
  metrics::reset();
  EXPECT_EQ(metrics::counter("my.batches"), 0U);
  EXPECT_TRUE(metrics::timings().empty());
}

TEST(Metrics, M1_NamesOfTheUsersOwnAreCheckedAndBounded) {
  metrics::reset();
  EXPECT_THROW(metrics::add(""), ValueError);
  EXPECT_THROW(metrics::add("op.add"), ValueError);
  EXPECT_THROW(metrics::record("step", 1), ValueError);
  EXPECT_THROW(metrics::Timed("step"), ValueError);
  EXPECT_THROW(metrics::record("mine", -1), ValueError);
  EXPECT_THROW(metrics::record("mine", std::nan("")), ValueError);
  EXPECT_TRUE(metrics::counters().empty());
  for (int i = 0; i < 1000; ++i) metrics::add("mine" + std::to_string(i));
  EXPECT_THROW(metrics::add("one more"), ValueError);
  for (int i = 0; i < 100; ++i) metrics::record("mine" + std::to_string(i), 0);
  EXPECT_THROW(metrics::record("one more", 0), ValueError);
  metrics::reset();
  EXPECT_NO_THROW(metrics::add("one more"));
  metrics::reset();
}

TEST(Metrics, M1_TheReportIsATableOfEverything) {
  cache::clear();
  const Tensor x = tensor({1.0F}) + 1;
  step({}, {.wait = true});
  const std::string report = metrics::report();
  for (const char* part :
       {"step", "run", "plan.compile", "op.add", "tensor.created", "reference:0", "median", "99 %", "plans of"}) {
    EXPECT_NE(report.find(part), std::string::npos) << part << " is not in\n" << report;
  }
}

TEST(Plans, M2_APlanReportsItsSizeAndCost) {
  if (on_another_device()) GTEST_SKIP() << "the numbers are those of the reference backend's programs";
  cache::clear();
  const Tensor x = zeros({1000});
  eval(x);
  cache::clear();
  const Tensor y = (x + 1) * 2;
  const std::uint64_t key = graph_key({y});
  eval(y);
  const std::vector<cache::PlanInfo> plans = cache::plans();
  ASSERT_EQ(plans.size(), 1U);
  EXPECT_EQ(plans[0].key, key);
  EXPECT_EQ(plans[0].nodes, 2U);
  EXPECT_EQ(plans[0].kernels, 2U);
  EXPECT_EQ(plans[0].inputs, 1U);
  EXPECT_EQ(plans[0].outputs, 1U);
  EXPECT_EQ(plans[0].planned_peak, 8000U);
  EXPECT_EQ(plans[0].code_bytes, 0U);
  EXPECT_GT(plans[0].compile_seconds, 0);
}

TEST(Plans, M2_WhatTheBackendMakesOfAGraphCanBeShown) {
  if (on_another_device()) GTEST_SKIP() << "the text is the reference backend's";
  const Tensor y = tensor({1.0F}) + 1;
  const std::string text = dump({y}, DumpFormat::backend);
  EXPECT_NE(text.find("reference: 1 kernels"), std::string::npos) << text;
  EXPECT_NE(text.find("add"), std::string::npos) << text;
  EXPECT_TRUE(y.is_pending());
}

TEST(SaveGraphsDeathTest, M2_EveryEvaluationIsAppendedAndParsesBack) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the variable is read once a process
  const std::string shared = ::testing::TempDir() + "lento_saved_graphs";
  EXPECT_EXIT(
      {
        std::remove(shared.c_str());
        ::setenv("LENTO_SAVE_GRAPHS", shared.c_str(), 1);
        const Tensor x = tensor({1.0F, 2.0F});
        for (int i = 0; i < 2; ++i) {
          const Tensor y = x * 2 + 1;
          step();
        }
        std::ifstream in(shared);
        std::stringstream all;
        all << in.rdbuf();
        const std::string text = all.str();
        const std::size_t second = text.find("# 1 of process");
        const bool good = second != std::string::npos && parse_graph(text.substr(0, second)).nodes.size() == 2 &&
                          parse_graph(text.substr(second)).nodes.size() == 2;
        std::exit(good ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
  std::remove(shared.c_str());
}

std::string content_of(const std::string& file) {
  std::ifstream in(file);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

TEST(SaveGraphsDeathTest, M2_GraphsAreSavedInTheFormOfLtcToo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the variables are read once a process
  for (const char* format : {"text", "dot", "backend"}) {
    const std::string file = ::testing::TempDir() + "lento_ltc_graphs_" + format;
    EXPECT_EXIT(
        {
          std::remove(file.c_str());
          ::setenv("LTC_SAVE_TENSORS_FILE", file.c_str(), 1);
          ::setenv("LTC_SAVE_TENSORS_FMT", format, 1);
          const Tensor x = tensor({1.0F, 2.0F}) * 2;
          step();
          const std::string text = content_of(file);
          const bool good =
              text.starts_with("[ScheduleSyncTensorsGraph]\nPython Stacktrace:\n  No Python Frames\n\nHashes: (") &&
              text.find("\n\n## BEGIN_GRAPH\n") != std::string::npos && text.ends_with("\n## END_GRAPH\n\n\n") &&
              (text.find("digraph") != std::string::npos) == (std::string(format) == "dot") &&
              (text.find("reference: 1 kernels") != std::string::npos) == (std::string(format) == "backend") &&
              text.find("multiply") != std::string::npos;
          if (!good) std::fputs(text.c_str(), stderr);
          std::exit(good ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
    std::remove(file.c_str());
  }
}

std::vector<std::string> warnings;

class Syncs : public ::testing::Test {
 protected:
  void SetUp() override {
    warnings.clear();
    set_warning_handler([](WarningKind, const std::string& message) { warnings.push_back(message); });
  }
  void TearDown() override {
    set(SyncMode::allow);
    set_warning_handler(nullptr);
  }
  static void set(SyncMode mode, bool waits_too = false) {
    Options changed = options();
    changed.sync = mode;
    changed.sync_wait = waits_too;
    set_options(changed);
  }
};

TEST_F(Syncs, E8_WarnTellsOfEachLineOnce) {
  set(SyncMode::warn);
  const int line = __LINE__ + 1;
  for (int i = 0; i < 3; ++i) (void)(tensor({1.0F}) + 1).item<float>();
  (void)(tensor({1.0F}) + 1).item<float>();
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_NE(warnings[0].find("item: "), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[0].find("observe_test.cpp:" + std::to_string(line)), std::string::npos) << warnings[0];
}

TEST_F(Syncs, E8_WaitsForStartedWorkAreWarnedOfWhereAsked) {
  testing::register_testing_backends();
  testing::gate::close();
  const Device device = testing::gated_device();
  const std::vector<float> one{1};
  const Tensor x = from_host(one.data(), DType::float32, Shape{1}, device);
  const auto read = [&] {
    const Tensor y = x + 1;
    step(device);
    const std::uint64_t before = metrics::counter("sync.wait");
    std::thread opener([&] {
      while (metrics::counter("sync.wait") == before) std::this_thread::yield();
      testing::gate::open(1);
    });
    EXPECT_EQ(y.item<float>(), 2);
    opener.join();
  };
  set(SyncMode::warn);
  read();
  set(SyncMode::error, true);
  read();
  EXPECT_TRUE(warnings.empty());
  set(SyncMode::warn, true);
  EXPECT_TRUE(options().sync_wait);
  read();
  read();
  ASSERT_EQ(warnings.size(), 1U) << "once a line";
  EXPECT_NE(warnings[0].find("reading a tensor that is being computed waits for it here"), std::string::npos);
  EXPECT_NE(warnings[0].find("observe_test.cpp:"), std::string::npos) << warnings[0];
}

TEST_F(Syncs, E8_ErrorNamesTheLineAndWhatToUseInstead) {
  set(SyncMode::error);
  const Tensor y = tensor({1.0F}) + 1;
  try {
    (void)y.item<float>();
    ADD_FAILURE() << "it was read";
  } catch (const BackendError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("lento.step()"), std::string::npos) << message;
    EXPECT_NE(message.find("observe_test.cpp:"), std::string::npos) << message;
  }
  EXPECT_TRUE(y.is_pending());
  EXPECT_EQ(y.to_string(), "<pending>");
  step();
  EXPECT_EQ(y.item<float>(), 2);  // no evaluation is forced now
}

TEST_F(Syncs, E8_ReadsInAClosureAreExempt) {
  set(SyncMode::error);
  float seen = 0;
  const Tensor y = tensor({1.0F}) + 1;
  add_step_closure([&](const std::vector<Tensor>& args) { seen = args[0].item<float>(); }, {y});
  step();
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace lento

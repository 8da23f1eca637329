// Switches that take something away to find a wrong result, from C++.
#include "backend/switches.h"

#include "backends/cpu/code/kernel_cache.h"
#include "backends/cpu/program.h"
#include "base/counters.h"
#include "ir/op_elementwise.gen.h"
#include "ir/op_reduction.gen.h"
#include "ir/run_graph.h"

#include <lento/error.h>
#include <lento/eval.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace lento::testing {
namespace {

class SwitchesTest : public ::testing::Test {
 protected:
  ~SwitchesTest() override { set_options(saved_); }
  Options saved_ = options();
};

TEST_F(SwitchesTest, OptionsNameThemAndNoneIsWhatTheEnvironmentSays) {
  Options changed = saved_;
  changed.fusion = false;
  changed.tier = CodeTier::one;
  changed.force_fallback = "reduce_sum,exp,,exp";
  set_options(changed);
  EXPECT_EQ(options().fusion, false);
  EXPECT_EQ(options().tier, CodeTier::one);
  EXPECT_EQ(switches()->fallback.count(), 2U);
  EXPECT_TRUE(switches()->falls_back(op::exp));
  EXPECT_TRUE(switches()->falls_back(op::reduce_sum));
  Options again = saved_;
  again.force_fallback = options().force_fallback;
  set_options(again);
  EXPECT_TRUE(switches()->falls_back(op::exp)) << "the text that options() gives can be set";
  set_options({});
  EXPECT_EQ(*switches(), Switches());
}

TEST_F(SwitchesTest, EqualOnesHaveOneAddress) {
  Options changed;
  changed.force_fallback = "exp,log";
  const Switches* first = find_switches(changed);
  changed.force_fallback = "log,exp";
  EXPECT_EQ(find_switches(changed), first);
  changed.tier = CodeTier::zero;
  EXPECT_NE(find_switches(changed), first);
}

TEST_F(SwitchesTest, ACompileKeepsThoseItStartedWith) {
  Options changed;
  changed.fusion = false;
  const Switches* unfused = find_switches(changed);
  const CompileSwitches held(unfused);
  set_options({});
  EXPECT_EQ(switches(), unfused);
  EXPECT_FALSE(cpu::fusion_options().fuse);
  std::thread([] { EXPECT_TRUE(cpu::fusion_options().fuse) << "other threads go their own way"; }).join();
}

TEST_F(SwitchesTest, HoldOnEveryThreadThatCompiles) {
  std::string nodes;
  for (int i = 0; i < 16; ++i) nodes += fmt::format("  %{} = scan_sum(%in0, axis={}) : float32(3, 4)\n", i, i % 2);
  const Graph graph = parse_graph("graph(%in0: float32(3, 4)) {\n" + nodes + "  return %0, %1\n}");
  Options forced;
  forced.force_fallback = "scan_sum";
  const CompileSwitches held(find_switches(forced));
  FusionOptions unfused;
  unfused.fuse = false;  // what is computed twice stays
  cpu::CpuProgram program(graph, 0, unfused);
  const std::uint64_t before = counter_value("fallback.scan_sum");
  (void)test::run_graph(program, graph, {std::vector<std::byte>(48)});
  EXPECT_EQ(counter_value("fallback.scan_sum") - before, 16U);
}

TEST_F(SwitchesTest, WhatMakesNoSenseChangesNothing) {
  const Switches* before = switches();
  Options wrong;
  wrong.fusion = false;
  wrong.force_fallback = "exp,nothing";
  EXPECT_THROW(set_options(wrong), ValueError);
  EXPECT_EQ(switches(), before);
}

}  // namespace
}  // namespace lento::testing

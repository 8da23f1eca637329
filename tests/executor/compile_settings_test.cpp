// Options that take something away to find a wrong result, from C++.
#include "executor/compile_settings.h"

#include "ir/op_elementwise.gen.h"
#include "ir/op_reduction.gen.h"

#include <lento/error.h>
#include <lento/eval.h>

#include <gtest/gtest.h>

namespace lento::testing {
namespace {

class CompileSettings : public ::testing::Test {
 protected:
  ~CompileSettings() override { set_options(saved_); }
  Options saved_ = options();
};

TEST_F(CompileSettings, OptionsNameThemAndNoneIsWhatTheEnvironmentSays) {
  Options changed = saved_;
  changed.fusion = false;
  changed.tier = CodeTier::one;
  changed.force_fallback = "reduce_sum,exp,,exp";
  set_options(changed);
  EXPECT_EQ(options().fusion, false);
  EXPECT_EQ(options().tier, CodeTier::one);
  EXPECT_EQ(compile_options()->fallback.count(), 2U);
  EXPECT_TRUE(compile_options()->falls_back(op::exp));
  EXPECT_TRUE(compile_options()->falls_back(op::reduce_sum));
  Options again = saved_;
  again.force_fallback = options().force_fallback;
  set_options(again);
  EXPECT_TRUE(compile_options()->falls_back(op::exp)) << "the text that options() gives can be set";
  set_options({});
  EXPECT_EQ(*compile_options(), CompileOptions());
}

TEST_F(CompileSettings, EqualOnesHaveOneAddress) {
  Options changed;
  changed.force_fallback = "exp,log";
  const CompileOptions* first = find_compile_options(changed);
  changed.force_fallback = "log,exp";
  EXPECT_EQ(find_compile_options(changed), first);
  changed.tier = CodeTier::zero;
  EXPECT_NE(find_compile_options(changed), first);
}

TEST_F(CompileSettings, WhatMakesNoSenseChangesNothing) {
  const CompileOptions* before = compile_options();
  Options wrong;
  wrong.fusion = false;
  wrong.force_fallback = "exp,nothing";
  EXPECT_THROW(set_options(wrong), ValueError);
  EXPECT_EQ(compile_options(), before);
}

}  // namespace
}  // namespace lento::testing

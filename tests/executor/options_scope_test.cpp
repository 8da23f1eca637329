// Options for the length of a block.
#include <lento/options_scope.h>
#include <lento/tensor.h>

#include <gtest/gtest.h>

#include <stdexcept>

namespace lento {
namespace {

Options strict() {
  Options changed = options();
  changed.sync = SyncMode::error;
  changed.max_inflight_steps = 3;
  return changed;
}

TEST(OptionsScope, TheOldOnesAreBackAfterTheBlock) {
  const Options before = options();
  const Tensor x = tensor({1, 2}) + 1;
  {
    const OptionsScope scope(strict());
    EXPECT_THROW(x.to_vector<std::int32_t>(), Error);
    {
      Options more = options();
      more.max_inflight_steps = 5;
      const OptionsScope inner(more);
      EXPECT_EQ(options().max_inflight_steps, 5U);
    }
    EXPECT_EQ(options().max_inflight_steps, 3U);
  }
  EXPECT_EQ(options().sync, before.sync);
  EXPECT_EQ(options().max_inflight_steps, before.max_inflight_steps);
  EXPECT_EQ(x.to_vector<std::int32_t>(), (std::vector<std::int32_t>{2, 3}));
}

TEST(OptionsScope, AnExceptionPutsThemBackToo) {
  const Options before = options();
  try {
    const OptionsScope scope(strict());
    throw std::runtime_error("");
  } catch (const std::runtime_error&) {
    EXPECT_EQ(options().sync, before.sync);
  }
}

TEST(OptionsScope, WhatMakesNoSenseChangesNothing) {
  const Options before = options();
  Options wrong = before;
  wrong.sync = SyncMode::warn;
  wrong.max_pending_nodes = 0;
  EXPECT_THROW(OptionsScope{wrong}, ValueError);
  EXPECT_EQ(options().sync, before.sync);
}

}  // namespace
}  // namespace lento

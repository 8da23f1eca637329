// Counters, interned lists and the biased lock: what many threads touch at once.
#include "base/biased_lock.h"
#include "base/counters.h"
#include "base/fail.h"
#include "base/interner.h"
#include "base/source.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace lento {
namespace {

TEST(Counters, SumOverThreadsAlsoAfterTheyEnd) {
  const CounterId id = counter_id("test.sum");
  const std::uint64_t before = counter_value("test.sum");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([id] {
      for (int i = 0; i < 1000; ++i) count(id);
    });
  }
  for (std::thread& thread : threads) thread.join();
  count(id, 5);
  EXPECT_EQ(counter_value("test.sum") - before, 4005);
}

TEST(Counters, ResetStartsAgainAtZero) {
  count(counter_id("test.reset"), 3);
  reset_counters();
  EXPECT_EQ(counter_value("test.reset"), 0);
  count(counter_id("test.reset"));
  EXPECT_EQ(counter_values().at("test.reset"), 1);
}

TEST(IntLists, EqualListsShareAnIdAndReadBack) {
  static IntListTable table;  // tables live as long as the process
  EXPECT_EQ(table.intern({}), 0U);
  std::vector<std::uint32_t> ids;
  for (std::int64_t i = 0; i < 5000; ++i) ids.push_back(table.intern(Ints{i, i * i}));
  for (std::int64_t i = 0; i < 5000; ++i) {
    EXPECT_EQ(table.intern(Ints{i, i * i}), ids[static_cast<std::size_t>(i)]);
    EXPECT_EQ(table.get(ids[static_cast<std::size_t>(i)]), (Ints{i, i * i}));
  }
  EXPECT_NE(table.intern(Ints{1, 2}), table.intern(Ints{2, 1}));
  EXPECT_EQ(table.size(), 5003U);  // with the empty list
}

TEST(IntLists, ManyThreadsAgreeOnIds) {
  static IntListTable table;  // tables live as long as the process
  std::vector<std::vector<std::uint32_t>> ids(4);
  std::vector<std::thread> threads;
  for (auto& mine : ids) {
    threads.emplace_back([&mine] {
      for (std::int64_t i = 0; i < 3000; ++i) mine.push_back(table.intern(Ints{i % 700, 7}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : ids) EXPECT_EQ(mine, ids[0]);
}

TEST(BiasedLock, OwnerAndVisitorsExcludeEachOther) {
  BiasedLock lock;
  std::int64_t shared = 0;  // unprotected except for the lock: a lost update or a race report is the failure
  std::thread owner([&] {
    for (int i = 0; i < 200000; ++i) {
      lock.lock_owner();
      ++shared;
      lock.unlock_owner();
    }
  });
  std::vector<std::thread> visitors;
  for (int v = 0; v < 3; ++v) {
    visitors.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        lock.lock_visitor();
        ++shared;
        lock.unlock_visitor();
      }
    });
  }
  owner.join();
  for (std::thread& visitor : visitors) visitor.join();
  EXPECT_EQ(shared, 200000 + 3 * 300);
}

TEST(Errors, T2_AreCompletedWithTheOutermostOpAndItsLine) {
  const Source line = Source::from_text("some/folder/train.py", 41);
  try {
    const CallScope outer("softmax", line);
    const CallScope inner("subtract", std::source_location::current());
    fail<ShapeError>("axis {} is out of range for shape {}", 3, Shape{2, 5});
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "softmax: axis 3 is out of range for shape (2, 5), at train.py:41");
    EXPECT_EQ(error.kind(), ErrorKind::shape);
  }
  EXPECT_TRUE(call_context().op.empty());
}

TEST(Sources, T7_ScopesNestAndAreInterned) {
  const ScopeId model = intern_scope(0, "model");
  const ScopeId layer = intern_scope(model, "layer1");
  EXPECT_EQ(scope_name(layer), "model/layer1");
  EXPECT_EQ(intern_scope(model, "layer1"), layer);
  EXPECT_EQ(scope_name(0), "");
}

// Clause T7: a program that makes up names for ever does not keep them all, but open scopes keep theirs.
TEST(Scopes, TheLastAreKnownAndThoseAroundThem) {
  const ScopeId outer = intern_scope(0, "outer");
  const ScopeId inner = intern_scope(outer, "inner");
  const ScopeId first = intern_scope(inner, "first");
  EXPECT_EQ(scope_name(first), "outer/inner/first");
  ScopeId last = 0;
  for (int i = 0; i < 20'000; ++i) last = intern_scope(inner, std::to_string(i));
  EXPECT_EQ(scope_name(last), "outer/inner/19999");
  EXPECT_EQ(scope_name(first), "");  // forgotten, and no other scope's
  EXPECT_EQ(scope_name(inner), "outer/inner");
  EXPECT_EQ(intern_scope(0, "outer"), outer);
  EXPECT_EQ(intern_scope(outer, "inner"), inner);
  EXPECT_NE(intern_scope(inner, "first"), first);
}

}  // namespace
}  // namespace lento

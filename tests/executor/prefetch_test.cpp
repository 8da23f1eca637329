// prefetch: items arrive in order, errors where the item was asked for, and the thread ends with the range.
#include <lento/prefetch.h>
#include <lento/tensor.h>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <list>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace lento {
namespace {

static_assert(std::ranges::input_range<Prefetch<int>>);
static_assert(std::ranges::input_range<Prefetch<std::unique_ptr<int>>>);
static_assert(std::movable<Prefetch<Tensor>>);

/// Counts to `last`, then ends.
auto counter(int last, std::atomic<int>* made = nullptr) {
  return [last, made, next = 0]() mutable -> std::optional<int> {
    if (next == last) return std::nullopt;
    if (made != nullptr) ++*made;
    return next++;
  };
}

template <class Range>
auto collect(Range&& range) {
  std::vector<std::ranges::range_value_t<Range>> items;
  for (auto& item : range) items.push_back(std::move(item));
  return items;
}

TEST(Prefetch, ItemsComeInTheirOrder) {
  for (const std::size_t size : {1U, 2U, 7U, 1000U}) {
    std::vector<int> expected(100);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(collect(prefetch(counter(100), size)), expected) << size;
  }
}

TEST(Prefetch, SourcesAreRangesOfEveryKind) {
  const std::vector<std::string> named = {"a", "b", "c"};
  EXPECT_EQ(collect(prefetch(named)), named);
  EXPECT_EQ(collect(prefetch(std::list<int>{3, 1, 2})), (std::vector{3, 1, 2}));
  const auto squares = std::views::iota(1, 5) | std::views::transform([](int i) { return i * i; });
  EXPECT_EQ(collect(prefetch(squares, 1)), (std::vector{1, 4, 9, 16}));
  EXPECT_EQ(collect(prefetch(std::vector<int>{})), std::vector<int>{});
  EXPECT_EQ(collect(prefetch(prefetch(named))), named);
}

TEST(Prefetch, ItemsMayBeWhatCannotBeCopied) {
  auto pointers = [next = 0]() mutable {
    return next == 3 ? std::optional<std::unique_ptr<int>>() : std::make_unique<int>(next++);
  };
  int expected = 0;
  for (const std::unique_ptr<int>& item : prefetch(std::move(pointers))) EXPECT_EQ(*item, expected++);
  EXPECT_EQ(expected, 3);
}

TEST(Prefetch, NoMoreThanSizeItemsAreMadeAhead) {
  std::atomic<int> made = 0;
  std::counting_semaphore<> calls(0);
  auto source = [&, next = 0]() mutable -> std::optional<int> {
    ++made;
    calls.release();
    return next++;
  };
  auto items = prefetch(source, 3);
  for (int i = 0; i < 3; ++i) calls.acquire();
  EXPECT_EQ(*items.next(), 0);
  calls.acquire();  // room for one more
  items.close();
  EXPECT_EQ(made, 4);
}

TEST(Prefetch, WhatTheSourceThrowsArrivesWhereTheItemWas) {
  auto source = [next = 0]() mutable -> std::optional<int> {
    if (next == 2) throw std::out_of_range("no third");
    return next++;
  };
  auto items = prefetch(source, 5);
  EXPECT_EQ(items.next(), 0);
  EXPECT_EQ(items.next(), 1);
  EXPECT_THROW(items.next(), std::out_of_range);
  EXPECT_EQ(items.next(), std::nullopt);
}

TEST(Prefetch, TensorsOfAnItemAreStartedByTheThread) {
  auto source = [next = 0]() mutable -> std::optional<std::pair<std::string, std::vector<Tensor>>> {
    if (next++ == 2) return std::nullopt;
    return std::pair("batch", std::vector{tensor({1.0F, 2.0F}) * next});
  };
  float expected = 1;
  for (auto& [name, tensors] : prefetch(source)) {
    EXPECT_FALSE(tensors[0].is_pending());
    EXPECT_EQ(tensors[0].to_vector<float>(), (std::vector{expected, 2 * expected}));
    ++expected;
  }
  EXPECT_EQ(expected, 3);
}

TEST(Prefetch, ALoopThatIsLeftEndsTheThreadAndTheSource) {
  const auto alive = std::make_shared<int>(0);
  {
    auto items = prefetch([alive, next = 0]() mutable { return std::optional(next++); });
    for (const int item : items) {
      if (item == 5) break;
    }
    EXPECT_EQ(items.next(), 6);  // another loop would go on here
  }
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(Prefetch, NothingComesAfterClose) {
  auto items = prefetch(counter(100));
  EXPECT_EQ(items.next(), 0);
  items.close();
  EXPECT_EQ(items.next(), std::nullopt);
  items.close();
  EXPECT_EQ(collect(items), std::vector<int>{});
}

TEST(Prefetch, CloseWakesWhoeverWaits) {
  std::binary_semaphore asked(0);
  std::binary_semaphore go(0);
  auto items = prefetch([&]() -> std::optional<int> {
    asked.release();
    go.acquire();
    return 1;
  });
  asked.acquire();
  std::jthread closer([&] { items.close(); });
  EXPECT_EQ(items.next(), std::nullopt);  // the thread is still in the middle of its item
  go.release();
}

TEST(Prefetch, ItCanBeMovedWhileItWorks) {
  auto items = prefetch(counter(10), 1);
  EXPECT_EQ(items.next(), 0);
  auto others = std::move(items);
  EXPECT_EQ(others.next(), 1);
  EXPECT_EQ(collect(items), std::vector<int>{});  // nothing is left behind
  others = prefetch(counter(3));
  EXPECT_EQ(collect(others), (std::vector{0, 1, 2}));
}

TEST(Prefetch, AForkedProcessLeavesTheThreadToItsParent) {
  auto items = prefetch(counter(10), 1);
  EXPECT_EQ(items.next(), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    bool is_refused = false;
    try {
      (void)items.next();
    } catch (const BackendError& error) {
      const std::string_view message = error.what();
      is_refused = message.starts_with("prefetch: its thread is in the process that this one was forked from") &&
                   message.find(", at prefetch_test.cpp:") != std::string_view::npos;
    }
    items.close();
    ::_exit(is_refused && !items.next() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(items.next(), 1);
}

TEST(Prefetch, SeveralThreadsMayAsk) {
  auto items = prefetch(counter(1000), 4);
  std::atomic<int> sum = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        while (const auto item = items.next()) sum += *item;
      });
    }
  }
  EXPECT_EQ(sum, 999 * 1000 / 2);
}

TEST(Prefetch, ASizeThatMakesNoSenseIsRefused) {
  EXPECT_THROW(prefetch(counter(1), 0), ValueError);
  try {
    prefetch(counter(1), (1U << 20) + 1);
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_TRUE(
        std::string(error.what())
            .starts_with("prefetch: size is a number of items from 1 to 1048576, not 1048577, at prefetch_test.cpp:"))
        << error.what();
  }
}

}  // namespace
}  // namespace lento

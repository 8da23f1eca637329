// T5: generators hand out consecutive blocks, from several threads too, and their state can be saved and restored.
#include <lento/random.h>

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace lento {
namespace {

TEST(Generator, T5_HandsOutConsecutiveBlocks) {
  Generator generator(42);
  EXPECT_EQ(generator.reserve(3), (Generator::State{42, 0}));
  EXPECT_EQ(generator.reserve(0), (Generator::State{42, 3}));
  EXPECT_EQ(generator.reserve(1), (Generator::State{42, 3}));
  EXPECT_EQ(generator.state(), (Generator::State{42, 4}));
}

TEST(Generator, T5_ASeedRestartsTheSequence) {
  Generator generator;
  EXPECT_EQ(generator.state(), (Generator::State{Generator::kFirstSeed, 0}));
  generator.reserve(7);
  generator.seed(5);
  EXPECT_EQ(generator.reserve(1), (Generator::State{5, 0}));
}

TEST(Generator, T5_StateCanBeSavedAndRestored) {
  Generator generator(1);
  generator.reserve(10);
  const Generator::State saved = generator.state();
  generator.reserve(20);
  generator.set_state(saved);
  EXPECT_EQ(generator.reserve(1), saved);
  EXPECT_EQ(Generator(saved).state(), saved);
}

TEST(Generator, T5_ThreadsNeverGetTheSameBlock) {
  Generator generator;
  constexpr int kThreads = 4;
  constexpr int kDraws = 1000;
  std::vector<std::vector<std::uint64_t>> taken(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kDraws; ++i) taken[static_cast<std::size_t>(t)].push_back(generator.reserve(2).counter);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::uint64_t> all;
  for (const auto& each : taken) all.insert(each.begin(), each.end());
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kThreads * kDraws));
  EXPECT_EQ(generator.state().counter, 2U * kThreads * kDraws);
}

}  // namespace
}  // namespace lento

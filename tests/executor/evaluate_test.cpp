// Evaluation of parts of a trace, values that are kept, failures that stay where they belong, and threads.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <random>
#include <thread>
#include <vector>

namespace lento {
namespace {

std::uint64_t created() { return metrics::counter("op.add"); }

TEST(Evaluate, E1_StepComputesLivePendingTensorsOfThisThread) {
  const Tensor x = tensor({1.0F, 2.0F});
  const Tensor a = x + 1;
  const Tensor b = a * 2;
  Tensor elsewhere;
  std::thread([&] { elsewhere = x + 5; }).join();
  step();
  EXPECT_FALSE(a.is_pending());
  EXPECT_FALSE(b.is_pending());
  EXPECT_TRUE(elsewhere.is_pending());
  EXPECT_EQ(b.to_vector<float>(), (std::vector<float>{4, 6}));
}

std::string first_failure() {
  try {
    wait();
  } catch (const IndexError& error) {
    return error.what();
  }
  return "nothing failed";
}

/// Outputs of one step that all fail are told in the order they are evaluated in: the first is the one wait() raises.
TEST(Evaluate, E1_StepEvaluatesInTheOrderOfCreation) {
  const Tensor x = tensor({1.0F, 2.0F});
  for (const std::vector<int>& order : {std::vector{5, 6, 7}, {7, 6, 5}, {6, 7, 5}}) {
    std::vector<Tensor> handles(8);  // handles are made, and dropped, in another order than values
    for (const int index : order) {
      handles[static_cast<std::size_t>(index)] = take(x, tensor({index}), 0) + 1;
      const Tensor dead = x * 3;
    }
    step();
    const std::string message = first_failure();
    EXPECT_NE(message.find("index " + std::to_string(order[0]) + " "), std::string::npos) << message;
  }
}

TEST(Evaluate, E1_TheGraphOfAStepListsOpsAndResultsInTheOrderOfCreation) {
  cache::clear();  // where all hashes are equal, a key names a plan only if it is the only one
  const Tensor x = tensor({1.0F, 2.0F});
  Tensor first = x + 1;
  Tensor second = sin(x);
  Tensor third = cos(first);
  std::swap(first, third);  // the handles change places, the values do not
  const std::string text = dump({second, first, third});
  EXPECT_LT(text.find("add("), text.find("sin(")) << text;
  EXPECT_LT(text.find("sin("), text.find("cos(")) << text;
  EXPECT_NE(text.find("return %0, %1, %2"), std::string::npos) << text;
  const std::uint64_t key = graph_key({third, second, first});
  step();
  const std::vector<Tensor> again = cache::run(key, {tensor({0.0F, 0.0F})});
  ASSERT_EQ(again.size(), 3U);
  EXPECT_EQ(again[0].to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(again[1].to_vector<float>(), (std::vector<float>{0, 0}));
}

TEST(Evaluate, E1_StepOfAllThreadsTakesWhatEveryThreadRecorded) {
  const Tensor x = tensor({1.0F, 2.0F});
  const Tensor mine = x * 2;
  Tensor elsewhere;
  std::thread([&] { elsewhere = x + 5; }).join();
  step({}, {.wait = true, .all_threads = true});
  EXPECT_FALSE(mine.is_pending());
  EXPECT_FALSE(elsewhere.is_pending());
  EXPECT_EQ(elsewhere.to_vector<float>(), (std::vector<float>{6, 7}));
}

TEST(Evaluate, E3_EvalKeepsEveryValueThatALiveHandleNames) {
  const Tensor x = tensor({1.0F, 2.0F});
  const Tensor a = x + 1;
  const Tensor b = a * 2;
  const Tensor unrelated = x * 5;
  eval(b);
  EXPECT_FALSE(a.is_pending());
  EXPECT_TRUE(unrelated.is_pending());
}

TEST(Evaluate, E3_AnEvaluatedTensorDropsItsGraph) {
  wait();
  const std::size_t before = memory().live;
  constexpr std::size_t kBytes = 4000;
  Tensor y;
  {
    const std::vector<float> values(1000, 1);
    const Tensor x = from_host(values.data(), DType::float32, Shape{1000});
    y = exp(x * 2) + x;
    EXPECT_NE(dump({y}).find("exp("), std::string::npos);
    eval(y);
    wait();
    EXPECT_EQ(dump({y}).find("exp("), std::string::npos) << dump({y});
    EXPECT_EQ(graph_key({y}), 0U);
    EXPECT_EQ(memory().live, before + 2 * kBytes) << "x and y, and nothing between them";
  }
  EXPECT_EQ(memory().live, before + kBytes) << "y holds what it was computed from";
  const Tensor z = y + 1;  // reads y, which is no op any more
  EXPECT_EQ(dump({z}).find("exp("), std::string::npos) << dump({z});
  y = Tensor();
  EXPECT_EQ(memory().live, before + kBytes) << "z needs y until it is computed";
  eval(z);
  wait();
  EXPECT_EQ(memory().live, before + kBytes) << "z is there, and y is not";
}

TEST(Evaluate, E3_AStepDropsTheGraphsOfAllItEvaluates) {
  wait();
  const std::size_t before = memory().live;
  Tensor kept;
  for (int i = 0; i < 5; ++i) {
    const std::vector<float> values(1000, 1);
    const Tensor x = from_host(values.data(), DType::float32, Shape{1000});
    kept = x + 1;
    const Tensor other = kept * 2;
    step({}, {.wait = true});
  }
  EXPECT_EQ(memory().live, before + 4000);
}

TEST(Evaluate, E3_AnUnnamedValueThatPendingRecordsNeedIsKeptToo) {
  const Tensor x = tensor({1.0F});
  Tensor shared = x[{tensor({5})}];  // fails when it runs: a second run would make a second failure
  const Tensor y = shared + 1;
  const Tensor z = shared + 2;
  shared = Tensor();
  eval(y);
  EXPECT_EQ(dump({z}).find("take_axis"), std::string::npos) << "the shared value would be computed again";
  EXPECT_THROW((void)y.item<float>(), IndexError);
  EXPECT_THROW((void)z.item<float>(), IndexError);
  EXPECT_THROW(wait(), IndexError);
}

TEST(Evaluate, E7_AFailureNamesTheFunctionThatWasCalled) {
  const Tensor x = tensor({1.0F, 2.0F});
  const auto message_of = [](const Tensor& bad) -> std::string {
    try {
      (void)bad.to_vector<float>();
    } catch (const IndexError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_TRUE(message_of(take(x, tensor({9}), 0)).starts_with("take: index 9 is out of range"));
  EXPECT_TRUE(message_of(x[{tensor({9})}]).starts_with("getitem: index 9 is out of range"));
  EXPECT_TRUE(message_of(prim::take_axis(x, tensor({9}), 0)).starts_with("take_axis: index 9 is out of range"));
  while (first_failure() != "nothing failed") continue;
}

TEST(Evaluate, E7_OnlyDependentsOfAFailureArePoisoned) {
  const Tensor x = tensor({1.0F, 2.0F});
  const Tensor bad = take(x, tensor({9}), 0);
  const Tensor good = x * 3;
  const Tensor mixed = bad + good;
  step();
  EXPECT_EQ(good.to_vector<float>(), (std::vector<float>{3, 6}));
  EXPECT_THROW((void)mixed.to_vector<float>(), IndexError);
  EXPECT_EQ((good + 1).to_vector<float>(), (std::vector<float>{4, 7}));
  EXPECT_THROW(wait(), IndexError);
  EXPECT_NO_THROW(wait());
}

TEST(Evaluate, SeveralResultsOfOneOpAreComputedTogether) {
  const Tensor x = tensor({3.0F, 1.0F, 2.0F});
  std::optional<Tensor> values;
  Tensor indices;
  {
    const auto both = prim::top_k(x, 2, 0, true);
    values = both.values;
    indices = both.indices;
  }
  eval(*values);
  EXPECT_FALSE(indices.is_pending());
  EXPECT_EQ(values->to_vector<float>(), (std::vector<float>{3, 2}));
  EXPECT_EQ(indices.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 2}));
}

TEST(Evaluate, AFurtherResultAloneIsEnough) {
  Tensor indices = prim::top_k(tensor({3.0F, 1.0F, 2.0F}), 2, 0, true).indices;
  EXPECT_EQ(indices.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 2}));
}

TEST(Threads, E10_AnOperandPendingInAnotherThreadIsEvaluatedThere) {
  std::optional<Tensor> pending;
  std::thread([&] { pending = tensor({1.0F, 2.0F}) + 1; }).join();
  EXPECT_TRUE(pending->is_pending());  // its thread is gone, its trace is not
  const Tensor sum = *pending + 10;
  EXPECT_EQ(sum.to_vector<float>(), (std::vector<float>{12, 13}));
}

TEST(Threads, E10_AnyMixOfTracingReadingAndDroppingIsSafe) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 400;
  const Tensor shared = tensor({1.0, 2.0, 3.0});
  std::mutex mutex;
  std::vector<Tensor> exchange(8, shared);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int round = 0; round < kRounds; ++round) {
        Tensor mine;
        {
          const std::lock_guard lock(mutex);
          mine = exchange[random() % exchange.size()];
        }
        // Every value in circulation is shared + n for one n in all its elements.
        Tensor next = mine + 1;
        switch (random() % 4) {
          case 0:
            (void)next.to_vector<double>();
            break;
          case 1:
            step();
            break;
          case 2:
            next = next + 1;
            break;
          default:
            break;
        }
        if (random() % 8 == 0) {
          const std::vector<double> values = next.to_vector<double>();
          if (values[1] - values[0] != 1 || values[2] - values[0] != 2) ++wrong;
          next = shared;
        }
        const std::lock_guard lock(mutex);
        exchange[random() % exchange.size()] = next;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, CreatedAndDestroyedBalance) {
  const std::uint64_t alive = metrics::counter("tensor.created") - metrics::counter("tensor.destroyed");
  {
    Tensor x = tensor({1.0F});
    for (int i = 0; i < 100; ++i) x = x + 1;
    (void)x.item<float>();
  }
  EXPECT_EQ(metrics::counter("tensor.created") - metrics::counter("tensor.destroyed"), alive);
  EXPECT_GE(created(), 100U);
}

}  // namespace
}  // namespace lento

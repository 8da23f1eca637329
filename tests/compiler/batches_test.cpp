// Batches: which kernels run as one launch, in which order, and what that means for their memory.
#include "compiler/batches.h"

#include "compiler/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lento::testing {
namespace {

struct Batched {
  Graph graph;
  Schedule schedule;

  explicit Batched(const std::string& text, double cost = 1000, std::size_t kernels = 100, bool fusion = true,
                   double last_cost = 0)
      : graph(parse_graph(text)) {
    const Target target{
        .computes = [](Op, DType, DType) { return true; },
        .casts = [](DType, DType) { return true; },
        .reduces = [](Op, DType) { return true; },
        .holds = [](DType) { return true; },
        .batch_cost = cost,
        .last_batch_cost = last_cost,
        .batch_kernels = kernels,
    };
    schedule = make_schedule(graph, target, {.fusion = fusion});
  }
  using Ranges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  Ranges batches() const {
    Ranges ranges;
    for (const Batch& batch : schedule.batches) ranges.emplace_back(batch.first, batch.last);
    return ranges;
  }
  /// The last node of each step.
  std::vector<std::uint32_t> order() const {
    std::vector<std::uint32_t> nodes;
    for (const Step& step : schedule.steps) nodes.push_back(step.nodes.back());
    return nodes;
  }
};

using Ranges = Batched::Ranges;
using Order = std::vector<std::uint32_t>;

/// `exp` of as many inputs, each of its own size.
std::string many(int count) {
  std::string inputs, nodes, results;
  for (int i = 0; i < count; ++i) {
    const std::string at = std::to_string(i), shape = " : float32(" + std::to_string(i + 2) + ",)\n";
    inputs += (i == 0 ? "%in" : ", %in") + at + ": float32(" + std::to_string(i + 2) + ",)";
    nodes += "  %" + at + " = exp(%in" + at + ")" + shape;
    results += (i == 0 ? "%" : ", %") + at;
  }
  return "graph(" + inputs + ") {\n" + nodes + "  return " + results + "\n}";
}

TEST(Batches, SmallKernelsOfAnySizesAreOneLaunch) {
  const Batched it(many(5));
  EXPECT_EQ(it.schedule.kernels.size(), 1U) << "sizes are no part of the code";
  EXPECT_EQ(it.batches(), (Ranges{{0, 4}})) << to_string(it.schedule, it.graph);
  EXPECT_EQ(turns(it.schedule).size(), 1U);
}

TEST(Batches, ThereAreNoneWhereTheTargetHasNoneAndWithoutFusion) {
  EXPECT_TRUE(Batched(many(5), 1000, 0).batches().empty());
  EXPECT_TRUE(Batched(many(5), 1000, 1).batches().empty());
  EXPECT_TRUE(Batched(many(5), 0).batches().empty());
  EXPECT_TRUE(Batched(many(5), 1000, 100, false).batches().empty());
}

TEST(Batches, HaveAsManyKernelsAsTheTargetSays) {
  EXPECT_EQ(Batched(many(8), 1000, 3).batches(), (Ranges{{0, 2}, {3, 5}, {6, 7}}));
  EXPECT_EQ(Batched(many(7), 1000, 3).batches(), (Ranges{{0, 2}, {3, 5}})) << "one alone is no batch";
}

// As an update that has to sum something first. The permutation keeps a sum and what follows it apart.
constexpr const char* kTwoStepsEach = R"(graph(%in0: float32(4, 6), %in1: float32(5, 3), %in2: float32(7, 2)) {
  %0 = reduce_sum(%in0, axes=[0], keepdims=false) : float32(6,)
  %1 = reduce_max(%0, axes=[0], keepdims=false) : float32()
  %2 = reduce_sum(%in1, axes=[0], keepdims=false) : float32(3,)
  %3 = reduce_max(%2, axes=[0], keepdims=false) : float32()
  %4 = reduce_sum(%in2, axes=[0], keepdims=false) : float32(2,)
  %5 = reduce_max(%4, axes=[0], keepdims=false) : float32()
  return %1, %3, %5
})";

TEST(Batches, WhatFollowsAnotherIsInTheNextOne) {
  const Batched it(kTwoStepsEach);
  EXPECT_EQ(it.order(), (Order{0, 2, 4, 1, 3, 5})) << to_string(it.schedule, it.graph);
  EXPECT_EQ(it.batches(), (Ranges{{0, 2}, {3, 5}}));
}

TEST(Batches, ShareNoMemoryWithinThem) {
  const Batched it(kTwoStepsEach);
  // All that the first one makes is there at once, and so are what the second one reads and what it makes.
  std::vector<std::size_t> offsets;
  for (const std::uint32_t node : {0U, 2U, 4U}) {
    ASSERT_EQ(it.schedule.places[node].kind, Place::Kind::temporary);
    offsets.push_back(it.schedule.places[node].offset);
  }
  std::ranges::sort(offsets);
  EXPECT_EQ(std::ranges::unique(offsets).begin(), offsets.end());
  EXPECT_EQ(it.schedule.temporary_bytes, 3 * 64U);
}

TEST(Batches, GoOnAcrossALargeKernel) {
  const Batched it(R"(graph(%in0: float32(8,), %in1: float32(4000,), %in2: float32(9,), %in3: float32(5000,)) {
  %0 = exp(%in0) : float32(8,)
  %1 = exp(%in1) : float32(4000,)
  %2 = exp(%in2) : float32(9,)
  %3 = exp(%in3) : float32(5000,)
  return %0, %1, %2, %3
})");
  EXPECT_EQ(it.order(), (Order{1, 3, 0, 2})) << to_string(it.schedule, it.graph);
  EXPECT_EQ(it.batches(), (Ranges{{2, 3}}));
}

/// Layers that read the whole of the one before, and a small kernel for each that reads a row of it.
std::string rows_of_layers(int count) {
  std::string nodes, results, whole = "in0";
  int node = 0;
  const auto add = [&](const std::string& text) {
    nodes += "  %" + std::to_string(node) + " = " + text + "\n";
    return std::to_string(node++);
  };
  for (int layer = 0; layer < count; ++layer) {
    const std::string most = add("reduce_max(%" + whole + ", axes=[0], keepdims=true) : float32(1, 200)");
    const std::string less = add("subtract(%" + whole + ", %" + most + ") : float32(200, 200)");
    const std::string rest = add("reduce_max(%" + less + ", axes=[1], keepdims=true) : float32(200, 1)");
    whole = add("divide(%" + less + ", %" + rest + ") : float32(200, 200)");
    const std::string row = add("strided_slice(%" + whole + ", $0, axes=[0], sizes=[1], steps=[1]) : float32(1, 200)");
    results += "%" + add("reduce_max(%" + row + ", axes=[1], keepdims=false) : float32(1,)") + ", ";
  }
  results += "%" + add("reduce_max(%" + whole + ", axes=[0, 1], keepdims=false) : float32()");
  return "graph(%in0: float32(200, 200); $0: int64 = 0) {\n" + nodes + "  return " + results + "\n}";
}

TEST(Batches, DoNotKeepAliveWhatLargeKernelsMake) {
  const Batched two(rows_of_layers(2));
  EXPECT_EQ(Batched(rows_of_layers(8)).schedule.temporary_bytes, two.schedule.temporary_bytes);
  EXPECT_LT(two.schedule.temporary_bytes, std::size_t{3} * 200 * 200 * sizeof(float));
}

TEST(Batches, RunBeforeALargeKernelThatReadsThem) {
  const Batched it(R"(graph(%in0: float32(8, 1), %in1: float32(8, 1000), %in2: float32(9,), %in3: float32(7,)) {
  %0 = reduce_sum(%in0, axes=[0], keepdims=true) : float32(1, 1)
  %1 = exp(%in2) : float32(9,)
  %2 = subtract(%in1, %0) : float32(8, 1000)
  %3 = exp(%in3) : float32(7,)
  return %1, %2, %3
})");
  EXPECT_EQ(it.order(), (Order{0, 1, 2, 3})) << to_string(it.schedule, it.graph);
  EXPECT_EQ(it.batches(), (Ranges{{0, 1}}));
}

TEST(Batches, EndAtACall) {
  const Batched it(R"(graph(%in0: float32(8,), %in1: float32(9,), %in2: float32(7,), %in3: float32(6,)) {
  %0 = exp(%in0) : float32(8,)
  %1 = exp(%in1) : float32(9,)
  %2 = sort_values(%0, axis=0, descending=false) : float32(8,)
  %3 = exp(%in2) : float32(7,)
  %4 = exp(%in3) : float32(6,)
  return %1, %2, %3, %4
})");
  EXPECT_EQ(it.batches(), (Ranges{{0, 1}, {3, 4}})) << to_string(it.schedule, it.graph);
}

TEST(Batches, WhoeverOverwritesAnInputComesAfterThoseThatReadIt) {
  // A parameter is read by something else before it is updated. In one batch, it could not be updated in place.
  const Batched it(R"(graph(%in0: float32(8,), %in1: float32(8,), %in2: float32(9,); $0: int64 = 0) {
  %0 = strided_slice(%in0, $0, axes=[0], sizes=[4], steps=[2]) : float32(4,)
  %1 = exp(%0) : float32(4,)
  %2 = exp(%in2) : float32(9,)
  %3 = add(%in0, %in1) : float32(8,)
  return %1, %2, %3
})");
  EXPECT_EQ(it.batches(), (Ranges{{0, 1}})) << to_string(it.schedule, it.graph);
  EXPECT_EQ(it.order(), (Order{1, 2, 3}));
}

constexpr const char* kUpdates =
    R"(graph(%in0: float32(8,), %in1: float32(4000,), %in2: float32(9,), %in3: float32(8, 500)) {
  %0 = exp(%in0) : float32(8,)
  %1 = exp(%in1) : float32(4000,)
  %2 = exp(%in2) : float32(9,)
  %3 = exp(%in3) : float32(8, 500)
  %4 = permute_dims(%3, axes=[1, 0]) : float32(500, 8)
  %5 = exp(%4) : float32(500, 8)
  return %0, %1, %2, %3, %5
})";

TEST(Batches, HaveLargerKernelsWhoseResultsNothingReads) {
  const Batched it(kUpdates, 1000, 100, true, 1e6);
  // %5 reads what a large kernel makes, which could be read no more and free.
  EXPECT_EQ(it.order(), (Order{3, 5, 0, 1, 2})) << to_string(it.schedule, it.graph);
  EXPECT_EQ(it.batches(), (Ranges{{2, 4}}));
}

TEST(Batches, HaveNoKernelThatIsTooLarge) {
  const Batched it(kUpdates, 1000, 100, true, 2000);
  EXPECT_EQ(it.order(), (Order{1, 3, 5, 0, 2})) << to_string(it.schedule, it.graph);
  EXPECT_EQ(it.batches(), (Ranges{{3, 4}}));
}

TEST(Batches, LeaveTheOrderAloneWhereThereAreNone) {
  const Batched it(R"(graph(%in0: float32(8,), %in1: float32(4000,)) {
  %0 = exp(%in0) : float32(8,)
  %1 = exp(%in1) : float32(4000,)
  return %0, %1
})");
  EXPECT_EQ(it.order(), (Order{0, 1}));
  EXPECT_TRUE(it.batches().empty());
}

TEST(Batches, GoAroundAChain) {
  std::string chain;
  for (int i = 1; i < 100; ++i) {
    chain += "  %" + std::to_string(i) + " = sin(%" + std::to_string(i - 1) + ") : float32(9000,)\n";
  }
  const Batched it(R"(graph(%in0: float32(9000,), %in1: float32(8,), %in2: float32(9,)) {
  %0 = exp(%in0) : float32(9000,)
)" + chain + R"(  %100 = exp(%in1) : float32(8,)
  %101 = exp(%in2) : float32(9,)
  return %99, %100, %101
})");
  ASSERT_EQ(it.schedule.chains.size(), 1U) << to_string(it.schedule, it.graph);
  EXPECT_EQ(it.schedule.chains[0].first, 0U);
  EXPECT_EQ(it.schedule.chains[0].last, 1U);
  EXPECT_EQ(it.batches(), (Ranges{{2, 3}}));
  EXPECT_EQ(turns(it.schedule).size(), 2U);
}

}  // namespace
}  // namespace lento::testing

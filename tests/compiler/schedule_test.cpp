// Schedules: what shares memory with what.
#include "compiler/schedule.h"

#include "ir/op_contraction.gen.h"

#include <gtest/gtest.h>

#include <string>

namespace lento::testing {
namespace {

const Target kEverything{
    .computes = [](Op, DType, DType) { return true; },
    .casts = [](DType, DType) { return true; },
    .reduces = [](Op, DType) { return true; },
    .creates = [](Op, DType) { return true; },
    .holds = [](DType) { return true; },
    .takes_views = [](Op op) { return op == op::matrix_multiply; },
};

struct Scheduled {
  Graph graph;
  Schedule schedule;

  explicit Scheduled(const std::string& text, bool fuse = true, std::int64_t tile = 2048) : graph(parse_graph(text)) {
    Target target = kEverything;
    target.tile_elements = tile;
    schedule = make_schedule(graph, target, {.fusion = fuse});
  }
  const Place& place(std::uint32_t node) const { return schedule.places[node]; }
  bool same_memory(std::uint32_t a, std::uint32_t b) const {
    return place(a).kind == place(b).kind && place(a).output == place(b).output && place(a).offset == place(b).offset;
  }
};

TEST(Schedules, AReshapeOfAResultIsNoStep) {
  const Scheduled it(R"(graph(%in0: float32(4, 6)) {
  %0 = exp(%in0) : float32(4, 6)
  %1 = reshape(%0, shape=[24]) : float32(24,)
  return %1
})");
  ASSERT_EQ(it.schedule.steps.size(), 1U) << to_string(it.schedule, it.graph);
  EXPECT_EQ(it.schedule.same_as[1], OperandRef::record(0));
  EXPECT_EQ(it.place(0).kind, Place::Kind::output);
  EXPECT_EQ(it.schedule.temporary_bytes, 0U);
  EXPECT_EQ(it.schedule.output_bytes, 96U);
}

TEST(Schedules, AReshapeOfAnInputIsThatInput) {
  const Scheduled it(R"(graph(%in0: float32(4, 6)) {
  %0 = reshape(%in0, shape=[24]) : float32(24,)
  return %0
})");
  EXPECT_TRUE(it.schedule.steps.empty());
  EXPECT_EQ(it.schedule.same_as[0], OperandRef::leaf(0));
  EXPECT_EQ(it.schedule.output_bytes, 0U);
}

TEST(Schedules, ATransposedOutputIsACopy) {
  const Scheduled it(R"(graph(%in0: float32(4, 6)) {
  %0 = permute_dims(%in0, axes=[1, 0]) : float32(6, 4)
  return %0
})");
  EXPECT_EQ(it.schedule.steps.size(), 1U);
  EXPECT_EQ(it.schedule.same_as[0], OperandRef::record(0));
}

TEST(Schedules, CallsReadReshapesWhereTheyLie) {
  const Scheduled it(R"(graph(%in0: float32(24,)) {
  %0 = exp(%in0) : float32(24,)
  %1 = reshape(%0, shape=[4, 6]) : float32(4, 6)
  %2 = sort_values(%1, axis=1, descending=false) : float32(4, 6)
  return %2
})");
  ASSERT_EQ(it.schedule.steps.size(), 2U) << to_string(it.schedule, it.graph);
  EXPECT_EQ(reads(it.graph, it.schedule, it.schedule.steps[1]), std::vector{OperandRef::record(0)});
}

TEST(Schedules, ResultsTakeTheInputsPlacesAndNotAGradients) {
  const auto text = [](const char* results) {
    return std::string(R"(graph(%in0: float32(8, 8), %in1: float32(8, 8), %in2: float32(8, 8)) {
  %0 = matrix_multiply(%in0, %in0) : float32(8, 8)
  %1 = add(%in1, %0) : float32(8, 8)
  %2 = multiply(%in2, %1) : float32(8, 8)
  %3 = subtract(%2, %0) : float32(8, 8)
  return )") +
           results + "\n}";
  };
  const Scheduled two(text("%1, %3"));
  ASSERT_EQ(two.schedule.steps.size(), 2U) << to_string(two.schedule, two.graph);
  EXPECT_EQ(two.place(0).kind, Place::Kind::temporary);
  // Of three results one finds no input.
  const Scheduled three(text("%1, %2, %3"));
  EXPECT_EQ(three.place(0).kind, Place::Kind::output);
  EXPECT_EQ(three.schedule.temporary_bytes, 0U);
}

TEST(Schedules, WhatIsReadOnlyLaterWaits) {
  // An optimizer's moment is scaled where the gradient is added to it.
  const Scheduled it(R"(graph(%in0: float32(8, 8), %in1: float32(8, 8); $0: float32 = 0.9) {
  %0 = multiply(%in0, $0) : float32(8, 8)
  %1 = matrix_multiply(%in1, %in1) : float32(8, 8)
  %2 = multiply(%1, %1) : float32(8, 8)
  %3 = add(%0, %2) : float32(8, 8)
  return %3
})");
  EXPECT_EQ(it.schedule.steps.size(), 2U) << to_string(it.schedule, it.graph);
}

TEST(Schedules, WhatIsReadBeforeDoesNotWait) {
  const Scheduled it(R"(graph(%in0: float32(8, 8); $0: float32 = 0.9) {
  %0 = multiply(%in0, $0) : float32(8, 8)
  %1 = matrix_multiply(%0, %0) : float32(8, 8)
  %2 = multiply(%1, %1) : float32(8, 8)
  %3 = add(%0, %2) : float32(8, 8)
  return %3
})");
  EXPECT_EQ(it.schedule.steps.size(), 3U) << to_string(it.schedule, it.graph);
}

/// A gradient that is made of something the forward pass could have kept waits for the cotangent, one value a row.
TEST(Schedules, WhatIsReadOnlyLaterWaitsForSmallerOperandsToo) {
  const Scheduled it(R"(graph(%in0: float32(4, 6), %in1: float32(4, 1)) {
  %0 = exp(%in0) : float32(4, 6)
  %1 = reduce_sum(%in1, axes=[0], keepdims=true) : float32(1, 1)
  %2 = multiply(%0, %1) : float32(4, 6)
  return %2
})");
  ASSERT_EQ(it.schedule.steps.size(), 2U) << to_string(it.schedule, it.graph);
  EXPECT_EQ(it.schedule.steps[1].nodes, (std::vector<std::uint32_t>{0, 2}));
}

/// The node reads from memory what its own group computes, so that nothing can wait for it.
TEST(Schedules, AGroupDoesNotWaitForWhatItStores) {
  const Scheduled it(R"(graph(%in0: float32(4)) {
  %0 = reduce_max(%in0, axes=[0], keepdims=false) : float32()
  %1 = exp(%in0) : float32(4)
  %2 = multiply(%0, %1) : float32(4)
  return %2
})");
  ASSERT_EQ(it.schedule.steps.size(), 2U) << to_string(it.schedule, it.graph);
}

/// What is reduced has another shape than the rows of its group, so that %1 reads it from memory and must not become
/// part of that group when %2 reads both.
TEST(Schedules, AGroupDoesNotBecomePartOfOneThatLoadsFromIt) {
  const Scheduled it(R"(graph(%in0: float32(4, 6)) {
  %0 = reduce_max(%in0, axes=[0], keepdims=false) : float32(6,)
  %1 = subtract(%in0, %0) : float32(4, 6)
  %2 = multiply(%1, %0) : float32(4, 6)
  return %2
})");
  ASSERT_EQ(it.schedule.steps.size(), 2U) << to_string(it.schedule, it.graph);
  EXPECT_EQ(it.schedule.steps[0].nodes, (std::vector<std::uint32_t>{0}));
}

TEST(Schedules, ABarrierIsReadWhereItsOperandLies) {
  const Scheduled it(R"(graph(%in0: float32(4, 6), %in1: float32(4, 6)) {
  %0 = exp(%in0) : float32(4, 6)
  %1 = barrier(%0) : float32(4, 6)
  %2 = multiply(%1, %in1) : float32(4, 6)
  return %0, %2
})");
  ASSERT_EQ(it.schedule.steps.size(), 2U) << to_string(it.schedule, it.graph);
  EXPECT_EQ(it.schedule.steps[1].nodes, (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(it.schedule.temporary_bytes, 0U);
}

TEST(Schedules, ReductionsOfOneTensorAlongTheSameAxesShareAPass) {
  const Scheduled it(R"(graph(%in0: float32(4, 6), %in1: float32(4, 6)) {
  %0 = multiply(%in0, %in1) : float32(4, 6)
  %1 = reduce_sum(%0, axes=[0], keepdims=false) : float32(6,)
  %2 = reduce_sum(%in0, axes=[0], keepdims=false) : float32(6,)
  %3 = reduce_sum(%in1, axes=[1], keepdims=false) : float32(4,)
  return %1, %2, %3
})");
  ASSERT_EQ(it.schedule.steps.size(), 2U) << to_string(it.schedule, it.graph);
  EXPECT_EQ(it.schedule.steps[0].nodes, (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(Schedules, AReductionOfATransposedTensorReadsACopy) {
  const Scheduled it(R"(graph(%in0: float32(8, 6)) {
  %0 = permute_dims(%in0, axes=[1, 0]) : float32(6, 8)
  %1 = reduce_sum(%0, axes=[0, 1], keepdims=false) : float32()
  return %1
})");
  ASSERT_EQ(it.schedule.steps.size(), 2U) << to_string(it.schedule, it.graph);
  EXPECT_TRUE(it.schedule.steps[0].is_kernel() && it.schedule.steps[1].is_kernel());
  EXPECT_EQ(reads(it.graph, it.schedule, it.schedule.steps[1]), std::vector{OperandRef::record(0)});
}

TEST(Schedules, AReductionOverOneElementIsNoKernel) {
  // What it reads does not move along such an axis; its neighbours keep their kernels.
  const Scheduled it(R"(graph(%in0: float32(8, 1)) {
  %0 = exp(%in0) : float32(8, 1)
  %1 = reduce_max(%0, axes=[1], keepdims=true) : float32(8, 1)
  %2 = add(%1, %0) : float32(8, 1)
  return %2
})");
  ASSERT_EQ(it.schedule.steps.size(), 3U) << to_string(it.schedule, it.graph);
  EXPECT_TRUE(it.schedule.steps[0].is_kernel());
  EXPECT_TRUE(it.schedule.steps[1].is_call());
  EXPECT_TRUE(it.schedule.steps[2].is_kernel());
}

TEST(Schedules, ARowThatIsBroadcastIsReducedFromACopy) {
  // Only the kernel shows that nothing moves along the reduced axis.
  const Scheduled it(R"(graph(%in0: float32(8, 1)) {
  %0 = broadcast_to(%in0, shape=[8, 6]) : float32(8, 6)
  %1 = exp(%0) : float32(8, 6)
  %2 = reduce_sum(%1, axes=[1], keepdims=true) : float32(8, 1)
  return %2
})");
  ASSERT_EQ(it.schedule.steps.size(), 2U) << to_string(it.schedule, it.graph);
  EXPECT_TRUE(it.schedule.steps[0].is_kernel() && it.schedule.steps[1].is_kernel());
  EXPECT_EQ(reads(it.graph, it.schedule, it.schedule.steps[1]), std::vector{OperandRef::record(1)});
}

TEST(Schedules, AnElementwiseStepWritesWhereItsDyingOperandLies) {
  const Scheduled it(R"(graph(%in0: float32(8, 8)) {
  %0 = exp(%in0) : float32(8, 8)
  %1 = tanh(%0) : float32(8, 8)
  %2 = sin(%1) : float32(8, 8)
  return %2
})",
                     false);
  ASSERT_EQ(it.schedule.steps.size(), 3U);
  EXPECT_EQ(it.schedule.temporary_bytes, 0U);
  EXPECT_TRUE(it.same_memory(0, 2));
  EXPECT_TRUE(it.same_memory(1, 2));
}

TEST(Schedules, AnOperandThatIsReadAgainKeepsItsPlace) {
  const Scheduled it(R"(graph(%in0: float32(8, 8)) {
  %0 = exp(%in0) : float32(8, 8)
  %1 = tanh(%0) : float32(8, 8)
  %2 = add(%0, %1) : float32(8, 8)
  return %2
})",
                     false);
  EXPECT_FALSE(it.same_memory(0, 1));
  EXPECT_TRUE(it.same_memory(0, 2) || it.same_memory(1, 2));
  EXPECT_FALSE(it.same_memory(0, 2) && it.same_memory(1, 2));
}

TEST(Schedules, ATransposedReadIsNotOverwritten) {
  const Scheduled it(R"(graph(%in0: float32(8, 8)) {
  %0 = exp(%in0) : float32(8, 8)
  %1 = permute_dims(%0, axes=[1, 0]) : float32(8, 8)
  %2 = tanh(%1) : float32(8, 8)
  return %2
})",
                     false);
  EXPECT_FALSE(it.same_memory(0, 2)) << to_string(it.schedule, it.graph);
}

TEST(Schedules, AnOperandReadInTwoWaysIsNotOverwritten) {
  const Scheduled it(R"(graph(%in0: float32(8, 8)) {
  %0 = exp(%in0) : float32(8, 8)
  %1 = permute_dims(%0, axes=[1, 0]) : float32(8, 8)
  %2 = add(%0, %1) : float32(8, 8)
  return %2
})",
                     false);
  EXPECT_FALSE(it.same_memory(0, 2)) << to_string(it.schedule, it.graph);
}

TEST(Schedules, ARowThatIsReadAgainAfterAReductionIsOverwrittenLast) {
  const Scheduled it(R"(graph(%in0: float32(8, 8)) {
  %0 = permute_dims(%in0, axes=[1, 0]) : float32(8, 8)
  %1 = sort_values(%0, axis=1, descending=false) : float32(8, 8)
  %2 = reduce_max(%1, axes=[1], keepdims=true) : float32(8, 1)
  %3 = add(%1, %1) : float32(8, 8)
  %4 = subtract(%1, %2) : float32(8, 8)
  return %3, %4
})");
  // %3 is known before the second pass over the row, which reads %1 once more.
  const KernelStep& last = it.schedule.steps.back().kernel();
  for (const InPlace& pair : last.in_place) EXPECT_EQ(last.operands[pair.result].base, OperandRef::record(4));
  EXPECT_FALSE(it.same_memory(1, 3));
}

constexpr const char* kLongChain = R"(graph(%in0: float32(8, 8), %in1: float32(64,)) {
  %0 = exp(%in0) : float32(8, 8)
  %1 = tanh(%0) : float32(8, 8)
  %2 = add(%0, %1) : float32(8, 8)
  %3 = reshape(%in1, shape=[8, 8]) : float32(8, 8)
  %4 = multiply(%2, %3) : float32(8, 8)
  return %4
})";

TEST(Schedules, AChainRunsInTilesAndStoresNothingButItsResult) {
  const Scheduled it(kLongChain, false, 16);
  ASSERT_EQ(it.schedule.chains.size(), 1U);
  EXPECT_EQ(it.schedule.chains[0].first, 0U);
  EXPECT_EQ(it.schedule.chains[0].last, 3U);
  EXPECT_EQ(it.schedule.temporary_bytes, 0U);
  EXPECT_EQ(it.schedule.chains[0].scratch_bytes, 64U);  // one of %0 and %1; the other lies where the result will
}

TEST(Schedules, SmallTensorsNeedNoTiles) {
  const Scheduled it(kLongChain, false, 32);
  EXPECT_TRUE(it.schedule.chains.empty());
}

TEST(Schedules, AChainEndsWhereElementsAreReadInAnotherOrder) {
  const Scheduled it(R"(graph(%in0: float32(8, 8)) {
  %0 = exp(%in0) : float32(8, 8)
  %1 = tanh(%0) : float32(8, 8)
  %2 = permute_dims(%1, axes=[1, 0]) : float32(8, 8)
  %3 = sin(%2) : float32(8, 8)
  return %3
})",
                     false, 4);
  ASSERT_EQ(it.schedule.chains.size(), 1U);
  EXPECT_EQ(it.schedule.chains[0].last, 1U);
  EXPECT_EQ(it.place(1).kind, Place::Kind::temporary);
}

TEST(Schedules, AChainEndsWhereAPartOfItsResultIsRead) {
  const Scheduled it(R"(graph(%in0: float32(64,); $0: int64 = 8) {
  %0 = exp(%in0) : float32(64,)
  %1 = tanh(%0) : float32(64,)
  %2 = strided_slice(%1, $0, axes=[0], sizes=[48], steps=[1]) : float32(48,)
  %3 = sin(%2) : float32(48,)
  return %3
})",
                     false, 4);
  ASSERT_EQ(it.schedule.chains.size(), 1U);
  EXPECT_EQ(it.schedule.chains[0].last, 1U);
}

constexpr const char* kCausalMask = R"(graph(%in0: float32(8, 8); $0: int64 = 0, $1: int64 = 1) {
  %0 = iota($0, $1, size=8, dtype=int64) : int64(8,)
  %1 = reshape(%0, shape=[8, 1]) : int64(8, 1)
  %2 = iota($0, $1, size=8, dtype=int64) : int64(8,)
  %3 = less_equal(%2, %1) : bool(8, 8)
  %4 = where(%3, %in0, %in0) : float32(8, 8)
  return %4
})";

TEST(Schedules, PositionsAreCountedWhereTheyAreUsed) {
  const Scheduled it(kCausalMask);
  ASSERT_EQ(it.schedule.steps.size(), 1U) << to_string(it.schedule, it.graph);
  EXPECT_EQ(it.schedule.temporary_bytes, 0U);
  EXPECT_EQ(reads(it.graph, it.schedule, it.schedule.steps[0]), std::vector{OperandRef::leaf(0)});
  EXPECT_EQ(
      to_string(it.schedule.kernels[0]),
      R"(kernel map dims=2 ($0: counted one, $1: counted zero, $2: float32 one, $3: out float32 one, #0: uint64, #1: uint64) {
  %0 = number #0 : uint64
  %1 = number #1 : uint64
  %2 = iota(%0, %1) at $0 : int64
  %3 = iota(%0, %1) at $1 : int64
  %4 = less_equal(%2, %3) : bool
  %5 = load $2 : float32
  %6 = where(%4, %5, %5) : float32
  store $3, %6
}
)");
  EXPECT_NO_THROW(verify(it.schedule.kernels[0]));
}

TEST(Schedules, PositionsThatACallReadsLieInMemory) {
  const Scheduled it(R"(graph(%in0: int64(6,); $0: int64 = 0, $1: int64 = 1) {
  %0 = iota($0, $1, size=6, dtype=int64) : int64(6,)
  %1 = reshape(%0, shape=[2, 3]) : int64(2, 3)
  %2 = sort_values(%1, axis=1, descending=true) : int64(2, 3)
  %3 = add(%0, %in0) : int64(6,)
  return %2, %3
})");
  ASSERT_EQ(it.schedule.steps.size(), 3U) << to_string(it.schedule, it.graph);
  // Whoever else uses them counts again.
  EXPECT_EQ(reads(it.graph, it.schedule, it.schedule.steps[2]), std::vector{OperandRef::leaf(0)});
}

TEST(Schedules, WithoutFusionPositionsAreAStep) {
  const Scheduled it(kCausalMask, false);
  ASSERT_EQ(it.schedule.steps.size(), 4U) << to_string(it.schedule, it.graph);
  for (const Step& step : it.schedule.steps) EXPECT_TRUE(step.is_kernel());
}

TEST(Schedules, RandomBitsAreDrawnOnceAndStoredForWhoReadsThemElsewhere) {
  const Scheduled it(R"(graph(%in0: uint32(6, 4); $0: uint64 = 1, $1: uint64 = 2) {
  %0 = random_bits($0, $1, shape=[6, 4], dtype=uint32) : uint32(6, 4)
  %1 = add(%0, %in0) : uint32(6, 4)
  %2 = permute_dims(%0, axes=[1, 0]) : uint32(4, 6)
  %3 = bitwise_invert(%2) : uint32(4, 6)
  return %1, %3
})");
  ASSERT_EQ(it.schedule.steps.size(), 2U) << to_string(it.schedule, it.graph);
  EXPECT_EQ(it.schedule.steps[0].nodes, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(reads(it.graph, it.schedule, it.schedule.steps[1]), std::vector{OperandRef::record(0)});
}

constexpr const char* kEmbedding = R"(graph(%in0: float32(50, 16), %in1: int64(8,), %in2: float32(16,)) {
  %0 = take_axis(%in0, %in1, axis=0) : float32(8, 16)
  %1 = add(%0, %in2) : float32(8, 16)
  return %1
})";

TEST(Schedules, PickedRowsAreReadWhereTheyLie) {
  const Scheduled it(kEmbedding);
  ASSERT_EQ(it.schedule.steps.size(), 1U) << to_string(it.schedule, it.graph);
  const Kernel& kernel = it.schedule.kernels[0];
  EXPECT_EQ(kernel.operands[1].picked_by, 0U);
  EXPECT_EQ(it.schedule.steps[0].kernel().picked[1].stride, 16);
  EXPECT_EQ(it.schedule.steps[0].kernel().picked[1].extent, 50);
  verify(kernel);
}

TEST(Schedules, ATableIsNotOverwrittenEvenIfItLooksLikeTheResult) {
  const Scheduled it(R"(graph(%in0: float32(1, 16), %in1: int64(1,), %in2: float32(1, 16)) {
  %0 = take_axis(%in0, %in1, axis=0) : float32(1, 16)
  %1 = add(%0, %in2) : float32(1, 16)
  return %1
})");
  const KernelStep& step = it.schedule.steps[0].kernel();
  ASSERT_EQ(step.in_place.size(), 1U) << to_string(it.schedule, it.graph);
  EXPECT_EQ(step.operands[step.in_place[0].operand].base, OperandRef::leaf(2));
}

TEST(Schedules, PickedRowsThatAreReducedAcrossAreCopied) {
  const Scheduled it(R"(graph(%in0: float32(50, 16), %in1: int64(8,)) {
  %0 = take_axis(%in0, %in1, axis=0) : float32(8, 16)
  %1 = exp(%0) : float32(8, 16)
  %2 = reduce_sum(%1, axes=[0], keepdims=false) : float32(16,)
  return %2
})");
  ASSERT_EQ(it.schedule.steps.size(), 2U) << to_string(it.schedule, it.graph);
  EXPECT_TRUE(it.schedule.steps[0].is_call());
  EXPECT_TRUE(it.schedule.steps[1].is_kernel());
}

}  // namespace
}  // namespace lento::testing

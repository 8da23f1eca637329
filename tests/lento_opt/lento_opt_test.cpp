// What lento-opt shows of each stage.
#include "backends/cpu/code/jit.h"
#include "cpu/cpu_program.h"
#include "ir/graph.h"
#include "lento_opt/call.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lento::testing {
namespace {

constexpr const char* kChain = R"(graph(%in0: float32(1000,); $0: float32 = 2.0) {
  %0 = multiply(%in0, $0) : float32(1000,)
  %1 = exp(%0) : float32(1000,)
  %2 = add(%1, %in0) : float32(1000,)
  return %2
}
)";

constexpr const char* kSoftmax = R"(graph(%in0: float32(64, 128)) {
  %0 = reduce_max(%in0, axes=[1], keepdims=true) : float32(64, 1)
  %1 = subtract(%in0, %0) : float32(64, 128)
  %2 = exp(%1) : float32(64, 128)
  %3 = reduce_sum(%2, axes=[1], keepdims=true) : float32(64, 1)
  %4 = divide(%2, %3) : float32(64, 128)
  return %4
}
)";

constexpr const char* kLinear = R"(graph(%in0: float32(8, 16), %in1: float32(16, 4), %in2: float32(4,)) {
  %0 = matrix_multiply(%in0, %in1) : float32(8, 4)
  %1 = add(%0, %in2) : float32(8, 4)
  return %1
}
)";

// exp(-(-x)) twice, and a cosine that nobody wants.
constexpr const char* kWasteful = R"(graph(%in0: float32(4,)) {
  %0 = negative(%in0) : float32(4,)
  %1 = negative(%0) : float32(4,)
  %2 = exp(%1) : float32(4,)
  %3 = cos(%in0) : float32(4,)
  %4 = exp(%in0) : float32(4,)
  %5 = multiply(%2, %4) : float32(4,)
  return %5
}
)";

/// What a call that succeeds shows.
std::string shown(const std::vector<std::string>& arguments, const std::string& graph) {
  const Called called = call(arguments, graph);
  EXPECT_EQ(called.status, 0);
  EXPECT_EQ(called.errors, "");
  return called.output;
}

TEST(LentoOpt, ShowsTheStagesInOrderAndNoCodeUnasked) {
  const std::string text = shown({}, kLinear);
  std::string stages;
  for (std::size_t at = text.find("### "); at != std::string::npos; at = text.find("### ", at + 1)) {
    stages += text.substr(at + 4, text.find('\n', at) - at - 4) + " ";
  }
  EXPECT_EQ(stages, "parse rules dead-code schedule kernels memory ");
}

TEST(LentoOpt, TellsWhichRuleRewroteWhichNodeAndWhatWasMerged) {
  EXPECT_EQ(shown({"--only=rules"}, kWasteful), R"(### rules
# %1: negative(negative(x)) = x
# %4: the same as %2
graph(%in0: float32(4,)) {
  %0 = negative(%in0) : float32(4,)
  %1 = exp(%in0) : float32(4,)
  %2 = cos(%in0) : float32(4,)
  %3 = multiply(%1, %1) : float32(4,)
  return %3
}
)");
}

TEST(LentoOpt, LeavesOutDeadCodeAfterTheRules) {
  EXPECT_EQ(shown({"--only=dead-code"}, kWasteful), R"(### dead-code
# 2 nodes left out
graph(%in0: float32(4,)) {
  %0 = exp(%in0) : float32(4,)
  %1 = multiply(%0, %0) : float32(4,)
  return %1
}
)");
}

TEST(LentoOpt, WhatAPassLeftCanBeReadAgain) {
  const std::string once = shown({"--only=dead-code"}, kWasteful);
  const std::string again = shown({"--only=dead-code"}, once);
  EXPECT_EQ(again.substr(again.find("graph(")), once.substr(once.find("graph(")));
  EXPECT_NE(again.find("# 0 nodes left out"), std::string::npos);
}

TEST(LentoOpt, StopsAfterTheStageItIsTold) {
  const std::string text = shown({"--stop-after=simplify"}, kWasteful);
  EXPECT_NE(text.find("### dead-code"), std::string::npos);
  EXPECT_EQ(text.find("### schedule"), std::string::npos);
}

TEST(LentoOpt, AChainOfElementwiseOpsIsOneKernel) {
  EXPECT_EQ(shown({"--only=schedule,kernels,memory"}, kChain), R"(### schedule
# 1 steps, 1 kernels, 0 bytes of temporaries, 4000 of outputs
run kernel 0 over (1000) for %0, %1, %2
# step 0: kernel 0
  $0 reads %in0 by (1)
  $1 writes %2 by (1), may lie where $0 lies
  #0 is $0

### kernels
# kernel 0
kernel map dims=1 ($0: float32 one, $1: out float32 one, #0: float32) {
  %0 = load $0 : float32
  %1 = number #0 : float32
  %2 = multiply(%0, %1) : float32
  %3 = exp(%2) : float32
  %4 = add(%3, %0) : float32
  store $1, %4
}

### memory
# 0 bytes of temporaries, 4000 of outputs
%2: output 0, 4000 bytes, written by step 0
)");
}

TEST(LentoOpt, LaterStagesHaveTheNamesOfTheGraphShownLast) {
  const std::string text = shown({"--only=schedule,memory"}, kWasteful);
  EXPECT_NE(text.find("run kernel 0 over (4) for %0, %1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("%1: output 0, 16 bytes, written by step 0\n"), std::string::npos) << text;
}

TEST(LentoOpt, WithoutFusionEveryOpIsAStepAndNothingIsSimplified) {
  const std::string text = shown({"--no-fusion", "--only=simplify,schedule,memory"}, kChain);
  EXPECT_NE(text.find("### rules\n# not run\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# 3 steps, 3 kernels"), std::string::npos) << text;
  EXPECT_NE(text.find("  $2 writes %2 by (1), may lie where $0 or $1 lies\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(R"(
### memory
# 4032 bytes of temporaries, 4000 of outputs
%0: temporary at 0, 4000 bytes, written by step 0, last read by step 1
%1: temporary at 0, 4000 bytes, written by step 1, last read by step 2
%2: output 0, 4000 bytes, written by step 2
)")) << text;
}

TEST(LentoOpt, WithoutSimplificationTheRestIsFused) {
  const std::string text = shown({"--no-simplify", "--only=schedule"}, kWasteful);
  EXPECT_NE(text.find("run kernel 0 over (4) for %0, %1, %2"), std::string::npos) << text;
  EXPECT_NE(text.find("%5"), std::string::npos) << text;
}

TEST(LentoOpt, SoftmaxIsOneKernelOverRows) {
  const std::string text = shown({"--only=schedule,kernels"}, kSoftmax);
  EXPECT_NE(text.find("# 1 steps, 1 kernels, 0 bytes of temporaries"), std::string::npos) << text;
  EXPECT_NE(text.find("kernel row dims=2"), std::string::npos) << text;
}

TEST(LentoOpt, AProductIsAPreparedCallAndItsBiasAKernelBroadcast) {
  EXPECT_EQ(shown({"--only=schedule"}, kLinear), R"(### schedule
# 2 steps, 1 kernels, 0 bytes of temporaries, 128 of outputs
call matrix_multiply for %0
run kernel 0 over (8, 4) for %1
# step 0: matrix_multiply, a prepared call
  reads %in0 by (16, 1)
  reads %in1 by (4, 1)
  writes %0
# step 1: kernel 0
  $0 reads %0 by (4, 1)
  $1 reads %in2 by (0, 1)
  $2 writes %1 by (4, 1), may lie where $0 lies
)");
}

TEST(LentoOpt, AnOpThatFallsBackIsACallOfTheReferenceBackend) {
  const std::string text = shown({"--force-fallback=exp", "--only=schedule"}, kChain);
  EXPECT_NE(text.find("# step 1: exp, left to the reference backend\n"), std::string::npos) << text;
}

TEST(LentoOpt, LongChainsRunInTilesOfTheGivenLength) {
  std::string graph = "graph(%in0: float32(100000,)) {\n";
  for (int i = 0; i < 100; ++i) {
    const std::string from = i == 0 ? "%in0" : fmt::format("%{}", i - 1);
    graph += fmt::format("  %{} = {}({}) : float32(100000,)\n", i, i % 2 == 0 ? "exp" : "tanh", from);
  }
  graph += "  return %99\n}\n";
  const std::string text = shown({"--tile=512", "--only=memory"}, graph);
  EXPECT_NE(text.find("# steps 0 to 1 in tiles of 512 elements"), std::string::npos) << text;
}

// The driver goes through the stages by itself: they must be those of the device.
TEST(LentoOpt, ShowsTheScheduleThatTheDeviceMakes) {
  for (const char* graph : {kChain, kSoftmax, kLinear}) {
    const std::string program = test::cpu_program(parse_graph(graph)).text();
    const std::string schedule = shown({"--only=schedule"}, graph);
    const std::string kernels = shown({"--only=kernels"}, graph);
    const std::size_t steps = program.find("# kernel 0");
    EXPECT_TRUE(schedule.starts_with("### schedule\n" + program.substr(0, steps))) << schedule << program;
    EXPECT_EQ(kernels, "### kernels\n" + program.substr(steps));
  }
  // Of a graph that is simplified, a program's steps have the names of the trace, and its kernels none.
  const std::string program = test::cpu_program(parse_graph(kWasteful)).text();
  EXPECT_EQ(shown({"--only=kernels"}, kWasteful), "### kernels\n" + program.substr(program.find("# kernel 0")));
}

TEST(LentoOpt, CodeIsForTheInstructionSetAndTheTierAskedFor) {
  const auto code = [](const char* isa, const char* tier) {
    return shown({"--only=code", "--code=assembly", std::string("--isa=") + isa, std::string("--tier=") + tier},
                 kChain);
  };
  const std::string avx2 = code("avx2", "1");
  EXPECT_NE(avx2.find("ymm"), std::string::npos);
  EXPECT_EQ(avx2.find("zmm"), std::string::npos);
  EXPECT_NE(code("avx512", "1").find("zmm"), std::string::npos);
  EXPECT_NE(code("neon", "1").find("fmul\tv"), std::string::npos);
  EXPECT_NE(code("avx2", "0"), avx2);
  EXPECT_TRUE(avx2.starts_with("### code\n# tier 1 for LLVM ")) << avx2.substr(0, 100);
}

TEST(LentoOpt, CodeIsLlvmsOrAssemblyOrBoth) {
  const auto shows = [](const std::string& kind, const char* what) {
    return shown({"--isa=avx2", "--code=" + kind}, kChain).find(what) != std::string::npos;
  };
  EXPECT_TRUE(shows("llvm", "# kernel 0, LLVM\n"));
  EXPECT_TRUE(shows("llvm", "define "));
  EXPECT_FALSE(shows("llvm", "# kernel 0, assembly\n"));
  EXPECT_FALSE(shows("assembly", "define "));
  EXPECT_TRUE(shows("assembly", "# kernel 0, assembly\n"));
  EXPECT_TRUE(shows("both", "define "));
  EXPECT_TRUE(shows("both", "# kernel 0, assembly\n"));
}

TEST(LentoOpt, PrintsFunctionsOfTheVectorMathAsC) {
  const std::string one = shown({"--math-c=exp_f32"}, "");
  EXPECT_NE(one.find("static inline float lento_exp_f32(float x) {\n"), std::string::npos) << one;
  EXPECT_EQ(one.find("lento_exp_f64"), std::string::npos);
  EXPECT_EQ(one.find("LENTO_TABLE double"), std::string::npos);
  const std::string several = shown({"--math-c=sin,tanh_f64"}, "");
  for (const char* name : {"double lento_two_over_pi[", "float lento_sin_f32(float x)",
                           "double lento_sin_f64(double x)", "double lento_tanh_f64(double x)"}) {
    EXPECT_NE(several.find(name), std::string::npos) << name;
  }
  EXPECT_EQ(several.find("lento_tanh_f32"), std::string::npos);
}

}  // namespace
}  // namespace lento::testing

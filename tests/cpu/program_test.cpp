// Programs of the CPU backend: each primitive is the reference backend's, to rounding; and a graph that was simplified
// keeps its bits, its lines and the number of its kernels.
#include "cpu/cpu_program.h"

#include "backends/reference/interpreter.h"
#include "base/counters.h"
#include "compiler/rule_patterns.h"
#include "ir/op_contraction.gen.h"
#include "ir/op_linalg.gen.h"
#include "ir/op_scan.gen.h"
#include "ir/random_graph.h"
#include "ir/random_inputs.h"
#include "ir/run_graph.h"

#include <lento/error.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace lento::test {
namespace {

bool is_convolution(Op op) {
  return op == op::convolution || op == op::convolution_input_grad || op == op::convolution_weight_grad;
}

bool is_attention(Op op) { return op == op::attention || op == op::attention_grad; }

bool is_solve(Op op) { return op == op::triangular_solve || op == op::linear_solve; }

/// Whether the column of element `i` of a solution has finite numbers only. OpenBLAS chooses its kernels by the
/// processor. With some of them a right-hand side that has an infinity makes nan of its whole column: they multiply it
/// by the zeros of the other triangle.
bool column_is_finite(const Record& node, const std::string& bytes, std::size_t i) {
  const Shape& shape = shape_of(node.shape);
  const auto rows = static_cast<std::size_t>(shape[shape.size() - 2]);
  const auto columns = static_cast<std::size_t>(shape.back());
  const std::size_t first = i / (rows * columns) * rows * columns + i % columns;
  for (std::size_t row = 0; row < rows; ++row) {
    const char* element = bytes.data() + (first + row * columns) * size_of(node.dtype);
    if (!std::isfinite(Scalar::read(node.dtype, element).to<double>())) return false;
  }
  return true;
}

/// Every primitive alone: what it computes differs from the reference by rounding only.
TEST(CpuPrograms, EveryPrimitiveAgreesWithTheReference) {
  for (const Op op : all_primitives()) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      RandomGraphBuilder builder(seed);
      ASSERT_TRUE(builder.add(op));
      const RandomGraph random = builder.finish();
      const InputBytes inputs = make_inputs(random, seed);
      CompiledProgram program = cpu_program(random.graph);
      reference::Interpreter reference(random.graph, 0);
      const std::vector<Outcome> actual = run_graph(program, random.graph, inputs);
      const std::vector<Outcome> expected = run_graph(reference, random.graph, inputs);
      for (std::size_t k = 0; k < actual.size(); ++k) {
        ASSERT_EQ(actual[k].failed(), expected[k].failed()) << to_string(random.graph);
        const Record& node = random.graph.nodes[random.graph.outputs[k]];
        const auto count = static_cast<std::size_t>(element_count(shape_of(node.shape)));
        for (std::size_t i = 0; i < count && !actual[k].failed(); ++i) {
          const std::size_t size = size_of(node.dtype);
          const char* a = actual[k].bytes.data() + i * size;
          const char* b = expected[k].bytes.data() + i * size;
          if (std::memcmp(a, b, size) == 0) continue;
          ASSERT_TRUE(node.dtype == DType::float32 || node.dtype == DType::float64 || node.dtype == DType::float16 ||
                      node.dtype == DType::bfloat16 || is_complex(node.dtype))
              << to_string(random.graph) << "element " << i;
          if (is_complex(node.dtype)) continue;  // compared by kernel_loops_test.cpp, element by element
          const double x = Scalar::read(node.dtype, a).to<double>();
          const double y = Scalar::read(node.dtype, b).to<double>();
          const double unit = node.dtype == DType::float64 ? 0x1p-52 : node.dtype == DType::float32 ? 0x1p-23 : 0x1p-8;
          // The library multiplies the zeros of a padding, too: with an infinite weight that makes a nan.
          if (std::isnan(x) && is_convolution(op)) continue;
          // So do products of weights that are 0 with values that are not finite: which of them are read is not said.
          if (std::isnan(x) != std::isnan(y) && is_attention(op)) continue;
          if (is_solve(op) && !column_is_finite(node, expected[k].bytes, i)) continue;
          // Two for each of the two, and room for sums of a few products in another order.
          ASSERT_TRUE((std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= 64 * unit * std::max(1.0, std::abs(y)))
              << to_string(random.graph) << "element " << i << ": " << x << " and " << y;
        }
      }
    }
  }
}

/// The device runs what it is told when nothing is fused, and what is left after simplification otherwise.
TEST(CpuPrograms, SimplificationKeepsTheBits) {
  for (const RulePattern& pattern : rule_patterns()) {
    for (int d = 0; d < kDTypeCount; ++d) {
      GraphMaker maker;
      try {
        maker.output(pattern.build(maker, static_cast<DType>(d)));
      } catch (const Error&) {
        continue;  // not defined in this dtype
      }
      CompiledProgram simplified = cpu_program(maker.graph);
      CompiledProgram traced = cpu_program(maker.graph, kUnfused);
      const InputBytes inputs = special_inputs(maker.graph);
      EXPECT_TRUE(run_graph(simplified, maker.graph, inputs) == run_graph(traced, maker.graph, inputs))
          << pattern.rule << "\n"
          << to_string(maker.graph) << simplified.text() << traced.text();
    }
  }
}

TEST(CpuPrograms, OpsThatAreToFallBackDoSoWhateverThreadPreparesThem) {
  std::string nodes;
  for (int i = 0; i < 16; ++i) nodes += fmt::format("  %{} = scan_sum(%in0, axis={}) : float32(3, 4)\n", i, i % 2);
  const Graph graph = parse_graph("graph(%in0: float32(3, 4)) {\n" + nodes + "  return %0, %1\n}");
  CompileOptions options = kUnfused;  // what is computed twice stays
  options.fallback.set(static_cast<std::size_t>(op::scan_sum));
  CompiledProgram program = cpu_program(graph, options);
  const std::uint64_t before = counter_value("fallback.scan_sum");
  (void)run_graph(program, graph, {std::vector<std::byte>(48)});
  EXPECT_EQ(counter_value("fallback.scan_sum") - before, 16U);
}

TEST(CpuPrograms, AFailureNamesTheLineOfTheTraceThatRuns) {
  Graph graph = parse_graph(R"(graph(%in0: float32(4,), %in1: int64(2,)) {
  %0 = negative(%in0) : float32(4,)
  %1 = negative(%0) : float32(4,)
  %2 = reshape(%1, shape=[4]) : float32(4,)
  %3 = take_axis(%2, %in1, axis=0) : float32(2,)                  @ train.py:4
  %4 = exp(%3) : float32(2,)                                      @ train.py:5
  return %4
}
)");
  CompiledProgram program = cpu_program(graph);
  InputBytes inputs{std::vector<std::byte>(16), std::vector<std::byte>(16)};
  Scalar(7).write(DType::int64, inputs[1].data());
  graph.sources[3] = Source::from_text("later.py", 40);  // a trace of the same structure from other lines
  const std::vector<Outcome> outcomes = run_graph(program, graph, inputs);
  ASSERT_TRUE(outcomes[0].failed());
  EXPECT_EQ(outcomes[0].failure->source, graph.sources[3]);
}

TEST(CpuPrograms, NormalisationWithNewAxesIsOneKernel) {
  const Graph graph = parse_graph(R"(graph(%in0: float32(8, 16); $0: float32 = 16.0, $1: float32 = 1e-05) {
  %0 = reduce_sum(%in0, axes=[1], keepdims=false) : float32(8,)
  %1 = divide(%0, $0) : float32(8,)
  %2 = reshape(%1, shape=[8, 1]) : float32(8, 1)
  %3 = broadcast_to(%2, shape=[8, 16]) : float32(8, 16)
  %4 = subtract(%in0, %3) : float32(8, 16)
  return %4
}
)");
  EXPECT_EQ(cpu_program(graph).launch_count(), 1U);
  EXPECT_GT(cpu_program(graph, kUnfused).launch_count(), 1U);
}

}  // namespace
}  // namespace lento::test

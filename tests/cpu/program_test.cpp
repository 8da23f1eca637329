// Programs of the CPU backend: the bits of a result do not depend on fusion, on the tier, on the number of threads or
// on how memory is used; and they are the reference backend's, to rounding.
#include "backends/cpu/program.h"

#include <lento/threads.h>

#include "backends/reference/interpreter.h"
#include "ir/random_graph.h"
#include "ir/random_inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace lento::test {
namespace {

/// The bytes of an output, or nothing when it failed.
struct Result {
  bool failed = false;
  std::string bytes;

  friend bool operator==(const Result&, const Result&) = default;
};

std::vector<Result> run(Program& program, const Graph& graph, const std::vector<std::vector<std::byte>>& inputs,
                        bool donate) {
  Backend& backend = backend_of(0);
  std::vector<ValueRef> values;
  for (const auto& bytes : inputs) {
    BufferRef buffer = backend.allocate(bytes.size(), 0);
    backend.copy_from_host(*buffer, bytes.data(), bytes.size());
    values.push_back(Value::ready(std::move(buffer)));
  }
  const std::vector<std::uint8_t> donated(inputs.size(), donate ? 1 : 0);
  std::vector<ValueRef> outputs;
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) outputs.push_back(Value::ready({}));
  program.run({values, donated, graph.scalars, outputs, graph.sources});
  std::vector<Result> results;
  for (const ValueRef& output : outputs) {
    if (output->failure) {
      results.push_back({true, ""});
    } else {
      results.push_back({false, std::string(static_cast<const char*>(output->buffer->data()), output->buffer->size())});
    }
  }
  if (!donate) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto* now = static_cast<const std::byte*>(values[i]->buffer->data());
      EXPECT_TRUE(std::equal(inputs[i].begin(), inputs[i].end(), now)) << "input " << i << " was written";
    }
  }
  return results;
}

FusionOptions unfused() {
  FusionOptions options;
  options.fuse = false;
  return options;
}

std::uint64_t seed_count(std::uint64_t otherwise) {
  const char* given = std::getenv("LENTO_FUZZ_SEEDS");
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

void expect_same(const std::vector<Result>& actual, const std::vector<Result>& expected, const char* what,
                 const Graph& graph, const cpu::CpuProgram& program) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t k = 0; k < actual.size(); ++k) {
    ASSERT_TRUE(actual[k] == expected[k]) << what << " changes %" << graph.outputs[k] << " of\n"
                                          << to_string(graph) << program.text();
  }
}

/// Kernels of a few ops, in tiles of a few elements: what long chains of large tensors become.
FusionOptions in_tiles() {
  FusionOptions options;
  options.most_nodes = 2;
  options.tile_elements = 3;
  return options;
}

TEST(CpuPrograms, BitsDoNotDependOnFusionTierThreadsOrMemory) {
  for (std::uint64_t seed = 0; seed < seed_count(300); ++seed) {
    const RandomGraph random = random_graph(seed, 30);
    const std::vector<std::vector<std::byte>> inputs = make_inputs(random, seed);
    cpu::CpuProgram fused(random.graph, 0, FusionOptions{});
    cpu::CpuProgram separate(random.graph, 0, unfused());
    const std::vector<Result> expected = run(separate, random.graph, inputs, false);
    set_num_threads(1);
    expect_same(run(fused, random.graph, inputs, false), expected, "fusion", random.graph, fused);
    set_num_threads(2);
    expect_same(run(fused, random.graph, inputs, true), expected, "a second thread, or donation", random.graph, fused);
    cpu::CpuProgram tiled(random.graph, 0, in_tiles());
    expect_same(run(tiled, random.graph, inputs, seed % 2 == 0), expected, "tiles", random.graph, tiled);
    if (seed % 10 == 0) {
      fused.improve();
      expect_same(run(fused, random.graph, inputs, true), expected, "the tier", random.graph, fused);
    }
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

bool is_convolution(Op op) {
  return op == Op::convolution || op == Op::convolution_input_grad || op == Op::convolution_weight_grad;
}

/// Every primitive alone: what it computes differs from the reference by rounding only.
TEST(CpuPrograms, EveryPrimitiveAgreesWithTheReference) {
  for (const Op op : all_primitives()) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      RandomGraphBuilder builder(seed);
      ASSERT_TRUE(builder.add(op));
      const RandomGraph random = builder.finish();
      const std::vector<std::vector<std::byte>> inputs = make_inputs(random, seed);
      cpu::CpuProgram program(random.graph, 0);
      reference::Interpreter reference(random.graph, 0);
      const std::vector<Result> actual = run(program, random.graph, inputs, false);
      const std::vector<Result> expected = run(reference, random.graph, inputs, false);
      for (std::size_t k = 0; k < actual.size(); ++k) {
        ASSERT_EQ(actual[k].failed, expected[k].failed) << to_string(random.graph);
        const Record& node = random.graph.nodes[random.graph.outputs[k]];
        const auto count = static_cast<std::size_t>(element_count(shape_of(node.shape)));
        for (std::size_t i = 0; i < count && !actual[k].failed; ++i) {
          const std::size_t size = size_of(node.dtype);
          const char* a = actual[k].bytes.data() + i * size;
          const char* b = expected[k].bytes.data() + i * size;
          if (std::memcmp(a, b, size) == 0) continue;
          ASSERT_TRUE(node.dtype == DType::float32 || node.dtype == DType::float64 || node.dtype == DType::float16 ||
                      node.dtype == DType::bfloat16 || is_complex(node.dtype))
              << to_string(random.graph) << "element " << i;
          if (is_complex(node.dtype)) continue;  // compared by codegen_test, element by element
          const double x = Scalar::read(node.dtype, a).to<double>();
          const double y = Scalar::read(node.dtype, b).to<double>();
          const double unit = node.dtype == DType::float64 ? 0x1p-52 : node.dtype == DType::float32 ? 0x1p-23 : 0x1p-8;
          // Two for each of the two, and room for sums of a few products in another order.
          // The library multiplies the zeros of a padding, too: with an infinite weight that makes a nan.
          if (std::isnan(x) && is_convolution(op)) continue;
          ASSERT_TRUE((std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= 64 * unit * std::max(1.0, std::abs(y)))
              << to_string(random.graph) << "element " << i << ": " << x << " and " << y;
        }
      }
    }
  }
}

}  // namespace
}  // namespace lento::test

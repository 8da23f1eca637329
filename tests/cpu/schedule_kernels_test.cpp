// Every kernel that schedules are made of, on the values that the reference backend gives it: the interpreter of
// kernels must make the reference's values of them, bit by bit, and generated code what the interpreter makes, on every
// instruction set and tier. So a wrong kernel is told from a kernel that was compiled wrongly.
//
// LENTO_TEST_GRAPHS names a file of graphs, one text after the other; tests/python/test_kernels.py runs the graphs of
// all samples of the catalogue through it.
#include "backends/cpu/driver.h"
#include "backends/reference/interpret_kernel.h"
#include "backends/reference/interpreter.h"
#include "compiler/passes/simplify.h"
#include "compiler/schedule.h"
#include "cpu/check_kernel.h"
#include "cpu/first_difference.h"
#include "cpu/graph_case.h"
#include "ir/op_elementwise.gen.h"
#include "ir/random_inputs.h"
#include "ir/run_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>

namespace lento::test {
namespace {

using Kind = Instruction::Kind;

/// Which kernels were seen, since the same ones come again and again.
class KernelChecker {
 public:
  std::size_t interpreted = 0;
  std::size_t generated = 0;
  std::size_t creating = 0;        // that compute with elements made of positions
  std::size_t generate_every = 1;  // of the kernels that were not seen before

  /// All kernels of a graph.
  void check(const Graph& graph, const InputBytes& inputs) {
    Target target = cpu::cpu_driver().target();
    target.least_row = 1;
    const Schedule schedule = make_schedule(graph, target, {});
    Graph all = graph;
    all.outputs.clear();
    for (std::uint32_t i = 0; i < all.nodes.size(); ++i) all.outputs.push_back(i);
    reference::Interpreter reference(all, 0);
    const std::vector<Outcome> values = run_graph(reference, all, inputs);
    const std::vector<std::uint8_t> is_promised = promised(graph);
    for (const Step& any : schedule.steps) {
      if (any.is_call()) continue;
      const KernelStep& step = any.kernel();
      const Kernel& kernel = schedule.kernels[step.kernel];
      ASSERT_NO_THROW(verify(kernel)) << to_string(kernel);
      const std::optional<testing::KernelCall> call = call_of(graph, kernel, step, inputs, values);
      if (!call) continue;  // something it reads has failed
      ++interpreted;
      testing::KernelCall done = *call;
      std::vector<void*> addresses;
      reference::interpret(kernel, call->arguments(done.memory, addresses));
      for (std::size_t j = 0; j < step.operands.size(); ++j) {
        const std::uint32_t node = step.operands[j].base.index();
        if (!kernel.operands[j].output || is_promised[node] == 0) continue;
        const std::vector<std::byte> expected = bytes_of(values[node]);
        const DType dtype = kernel.operands[j].dtype;
        ASSERT_EQ(testing::first_difference(dtype, expected, done.memory[j]), -1)
            << "%" << node << " of\n"
            << to_string(graph) << to_string(schedule, graph);
      }
      if (!seen_.insert(to_string(kernel)).second || shows_nans(kernel) || seen_.size() % generate_every != 0) continue;
      ++generated;
      creating += computes_with_created(kernel) ? 1 : 0;
      testing::Random random(generated);
      testing::check_kernel(random, *call, is_specified(kernel));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }

 private:
  static std::vector<std::byte> bytes_of(const Outcome& value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(value.bytes.data());
    return {bytes, bytes + value.bytes.size()};
  }

  static std::optional<testing::KernelCall> call_of(const Graph& graph, const Kernel& kernel, const KernelStep& step,
                                                    const InputBytes& inputs, const std::vector<Outcome>& values) {
    testing::KernelCall call;
    call.kernel = kernel;
    call.sizes = step.sizes;
    call.strides = step.strides;
    call.picked = step.picked;
    for (std::size_t j = 0; j < step.operands.size(); ++j) {
      const StepOperand& operand = step.operands[j];
      const bool is_input = operand.base.kind() == OperandRef::Kind::leaf;
      const bool is_counted = kernel.operands[j].counted;
      if (!is_input && !is_counted && values[operand.base.index()].failed()) return std::nullopt;
      std::int64_t moved = 0;
      for (const DynamicStart& start : operand.starts) {
        moved += graph.scalars[start.number].value.to<std::int64_t>() * start.stride;
      }
      if (is_counted) {
        call.memory.emplace_back();
        call.starts.push_back(moved);
        continue;
      }
      call.memory.push_back(is_input ? inputs[operand.base.index()] : bytes_of(values[operand.base.index()]));
      if (kernel.operands[j].output) std::ranges::fill(call.memory.back(), std::byte{0x5a});
      call.starts.push_back(moved);
    }
    call.numbers.resize(step.numbers.size() * 16);
    for (std::size_t i = 0; i < step.numbers.size(); ++i) {
      graph.scalars[step.numbers[i]].value.write(kernel.numbers[i], call.numbers.data() + i * 16);
    }
    return call;
  }

  /// All its ops have one result on every backend.
  static bool is_specified(const Kernel& kernel) {
    return std::ranges::none_of(kernel.body, [&](const Instruction& i) {
      return i.kind == Kind::compute &&
             testing::differs_between_backends(i.op, kernel.body[i.inputs[i.input_count - 1]].dtype);
    });
  }

  static bool computes_with_created(const Kernel& kernel) {
    return std::ranges::any_of(kernel.body, [&](const Instruction& i) {
      return i.kind == Kind::compute &&
             std::ranges::any_of(std::span(i.inputs, i.input_count),
                                 [&](std::uint16_t from) { return kernel.body[from].kind == Kind::create; });
    });
  }

  /// Results may hang on the sign of a nan that was computed, which nobody promises.
  static bool shows_nans(const Kernel& kernel) {
    return std::ranges::any_of(kernel.body, [&](const Instruction& i) {
      if (i.kind != Kind::compute) return false;
      const bool complex_function = is_complex(kernel.body[i.inputs[0]].dtype) &&
                                    ((i.op >= op::sqrt && i.op <= op::i1e) || i.op == op::general_pow);
      if (complex_function) return true;
      if (i.op != op::signbit && i.op != op::copysign) return false;
      for (unsigned j = 0; j < i.input_count; ++j) {
        if (kernel.body[i.inputs[j]].kind != Kind::load) return true;
      }
      return false;
    });
  }

  std::set<std::string> seen_;
};

/// As it was traced, and as it is scheduled.
void check_both(KernelChecker& checker, Graph graph, const InputBytes& inputs) {
  checker.check(graph, inputs);
  if (::testing::Test::HasFatalFailure()) return;
  simplify(graph);
  checker.check(graph, inputs);
}

TEST(ScheduledKernels, OfRandomGraphsAreTheReference) {
  KernelChecker checker;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const GraphCase graph = random_case(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    check_both(checker, graph.random.graph, make_inputs(graph.random, seed));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(checker.interpreted, 500U);
  EXPECT_GT(checker.generated, 200U);
  EXPECT_GT(checker.creating, 10U);
}

TEST(ScheduledKernels, OfGivenGraphsAreTheReference) {
  const char* name = std::getenv("LENTO_TEST_GRAPHS");
  if (name == nullptr) GTEST_SKIP() << "tests/python/test_kernels.py gives the graphs";
  std::ifstream file(name);
  KernelChecker checker;
  checker.generate_every = 4;  // compiling takes all the time
  std::size_t graphs = 0;
  std::string text;
  for (std::string line; std::getline(file, line);) {
    text += line + "\n";
    if (line != "}") continue;
    RandomGraph given{parse_graph(text), {}};
    given.domains.resize(given.graph.inputs.size());
    SCOPED_TRACE(text);
    check_both(checker, given.graph, make_inputs(given, ++graphs));
    if (HasFatalFailure()) return;
    text.clear();
  }
  EXPECT_TRUE(text.empty()) << "the last graph has no end";
  std::cout << graphs << " graphs, " << checker.interpreted << " kernels interpreted, " << checker.generated
            << " generated\n";
}

}  // namespace
}  // namespace lento::test

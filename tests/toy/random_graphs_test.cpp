// Random graphs on the toy device, with delays drawn from a seed: what order hides, they find.
#include "toy/toy.h"

#include "backend/backend.h"
#include "backend/queues.h"
#include "backends/reference/arithmetic.h"
#include "backends/reference/interpreter.h"
#include "base/dispatch.h"
#include "ir/random_graph.h"
#include "ir/random_inputs.h"
#include "ir/run_graph.h"
#include "runtime/make_program.h"

#include <cstdlib>
#include <cstring>

namespace lento::test {
namespace {

/// Runs a program on the toy device, with inputs that are uploaded and outputs that are read through its queues.
std::vector<Outcome> run_on_toy(Program& program, const Graph& graph, const InputBytes& inputs, std::uint8_t id,
                                bool donate) {
  Backend& backend = backend_of(id);
  DeviceQueues& queues = *backend.queues(id);
  std::vector<ValueRef> values;
  for (const auto& bytes : inputs) {
    BufferRef buffer = backend.allocate(bytes.size(), id);
    queues.upload(buffer->data(), bytes.data(), bytes.size());
    values.push_back(Value::ready(std::move(buffer)));
  }
  queues.wait(Queue::compute, queues.record(Queue::upload));
  std::vector<ValueRef> outputs;
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) outputs.push_back(Value::ready({}));
  const std::vector<std::uint8_t> donated(inputs.size(), donate ? 1 : 0);
  program.run({values, donated, graph.scalars, outputs, graph.sources});
  std::vector<Outcome> outcomes;
  for (const ValueRef& output : outputs) {
    outcomes.push_back({output->failure, {}});
    if (output->failure) continue;
    std::string& bytes = outcomes.back().bytes;
    bytes.resize(output->buffer->size());
    queues.download(bytes.data(), output->buffer->data(), bytes.size());
    queues.record(Queue::download)->wait();
  }
  return outcomes;
}

/// All nans are one.
std::string without_payloads(DType dtype, std::string bytes) {
  dispatch(dtype, [&]<class T>() {
    if constexpr (!std::is_integral_v<T>) {
      for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
        T value;
        std::memcpy(static_cast<void*>(&value), bytes.data() + i, sizeof(T));
        if (reference::is_nan(value)) std::memset(bytes.data() + i, 0xff, sizeof(T));
      }
    }
  });
  return bytes;
}

class ToyGraphs : public Toy, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  void SetUp() override { Toy::SetUp(); }
  void TearDown() override { Toy::TearDown(); }
};
constexpr std::uint64_t kParts = 4;

TEST_P(ToyGraphs, D7_ResultsDoNotDependOnDelaysOrOnWhatTheDeviceHasCodeFor) {
  const char* const wanted = std::getenv("LENTO_TEST_GRAPHS");
  const std::uint64_t count = wanted == nullptr ? 120 : std::strtoull(wanted, nullptr, 10);
  const std::uint8_t id = device().id();
  const char* const only = std::getenv("LENTO_TEST_SEED");
  const std::uint64_t first = only == nullptr ? GetParam() : std::strtoull(only, nullptr, 10);
  for (std::uint64_t seed = first; seed < (only == nullptr ? count : first + 1); seed += kParts) {
    const RandomGraph random = random_graph(seed, 12);
    const Graph& graph = random.graph;
    const InputBytes inputs = make_inputs(random, seed);
    reference::Interpreter oracle(graph, 0);
    const std::vector<Outcome> expected = run_graph(oracle, graph, inputs);
    for (const toy::Support support : {toy::Support::all, toy::Support::kernels, toy::Support::few}) {
      toy::set_support(support);
      toy::set_delays(0);
      const std::unique_ptr<Program> program = make_program(graph, id, CompileOptions{});
      const std::vector<Outcome> plain = run_on_toy(*program, graph, inputs, id, false);
      toy::set_delays(seed + 1);
      const std::vector<Outcome> delayed = run_on_toy(*program, graph, inputs, id, seed % 2 == 0);
      for (std::size_t k = 0; k < plain.size(); ++k) {
        ASSERT_EQ(plain[k].text(), delayed[k].text()) << "seed " << seed << ", output " << k << "\n"
                                                      << to_string(graph);
      }
      for (std::size_t k = 0; k < expected.size(); ++k) {
        ASSERT_EQ(plain[k].failed(), expected[k].failed()) << "seed " << seed << "\n" << plain[k].text();
        // Elsewhere the CPU device computes some of it, whose functions differ in the last place.
        if (support != toy::Support::all) continue;
        const DType dtype = graph.nodes[graph.outputs[k]].dtype;
        ASSERT_EQ(without_payloads(dtype, plain[k].bytes), without_payloads(dtype, expected[k].bytes))
            << "seed " << seed << ", output " << k << "\n"
            << to_string(graph);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Part, ToyGraphs, ::testing::Range(std::uint64_t{0}, kParts));

}  // namespace
}  // namespace lento::test

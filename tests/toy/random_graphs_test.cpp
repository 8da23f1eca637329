// Random graphs on the toy device, with delays drawn from a seed: what order hides, they find.
#include "toy/toy.h"

#include "backend/backend.h"
#include "backend/queues.h"
#include "backends/reference/arithmetic.h"
#include "backends/reference/interpreter.h"
#include "base/dispatch.h"
#include "fuzz/random_graphs.h"
#include "ir/graph_case.h"
#include "ir/random_inputs.h"
#include "ir/run_graph.h"
#include "runtime/compiled_program.h"
#include "runtime/make_program.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <utility>

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

/// A program of the toy device with batches, which it does not ask for: it gets their kernels one by one.
CompiledProgram in_batches(Graph graph, std::uint8_t id) {
  Backend& backend = backend_of(id);
  Target target = backend.driver(id)->target();
  target.batch_cost = 1e6;
  target.batch_kernels = 8;
  return CompiledProgram(std::move(graph), *backend.driver(id), target, {}, backend.queues(id));
}

/// Runs the graph on the reference backend, and on the toy device with and without pauses and batches, for all that it
/// may support. Says where the first two differ; "" when none do.
std::string difference(const GraphCase& of, std::uint8_t id) {
  const Graph& graph = of.random.graph;
  const InputBytes inputs = make_inputs(of.random, of.seed);
  reference::Interpreter oracle(graph, 0);
  const std::vector<Outcome> expected = run_graph(oracle, graph, inputs);
  for (const toy::Support support : {toy::Support::all, toy::Support::kernels, toy::Support::few}) {
    toy::set_support(support);
    toy::set_delays(0);
    const std::unique_ptr<Program> program = make_program(graph, id, CompileOptions{});
    const std::vector<Outcome> plain = run_on_toy(*program, graph, inputs, id, false);
    toy::set_delays(of.seed + 1);
    CompiledProgram batched = in_batches(graph, id);
    const std::vector<Outcome> delayed = run_on_toy(batched, graph, inputs, id, of.seed % 2 == 0);
    for (std::size_t k = 0; k < plain.size(); ++k) {
      const std::string where = fmt::format("output {}, support {}: ", k, static_cast<int>(support));
      if (plain[k].text() != delayed[k].text()) {
        return where + plain[k].text() + ", and " + delayed[k].text() + " with pauses and batches\n";
      }
      if (plain[k].failed() != expected[k].failed()) {
        return where + plain[k].text() + ", and " + expected[k].text() + " on the reference backend\n";
      }
      // What falls back is computed by the CPU device, whose functions differ in the last place.
      const DType dtype = graph.nodes[graph.outputs[k]].dtype;
      if (program->fallbacks().empty() &&
          without_payloads(dtype, plain[k].bytes) != without_payloads(dtype, expected[k].bytes)) {
        return where + plain[k].text() + ", and " + expected[k].text() + " on the reference backend\n";
      }
    }
  }
  return "";
}

class ToyGraphs : public Toy, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  void SetUp() override { Toy::SetUp(); }
  void TearDown() override { Toy::TearDown(); }
};
constexpr std::uint64_t kGraphs = 120;
constexpr std::uint64_t kParts = 4;  // tests, which run side by side

TEST_P(ToyGraphs, D7_ResultsDoNotDependOnDelaysOrOnWhatTheDeviceHasCodeFor) {
  fuzz::try_random_graphs(
      GetParam() * kGraphs / kParts, kGraphs / kParts,
      [](std::uint64_t seed) { return GraphCase{random_graph(seed, 12), seed}; },
      [](const GraphCase& graph) { return difference(graph, device().id()); });
}

INSTANTIATE_TEST_SUITE_P(Part, ToyGraphs, ::testing::Range(std::uint64_t{0}, kParts));

}  // namespace
}  // namespace lento::test

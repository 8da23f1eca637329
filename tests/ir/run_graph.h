// Running a graph in a test: a program, bytes in, bytes out.
#pragma once

#include "backend/backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lento::test {

using InputBytes = std::vector<std::vector<std::byte>>;

/// What a run made of an output.
struct Outcome {
  FailureRef failure;
  std::string bytes;  // empty when it failed

  bool failed() const { return static_cast<bool>(failure); }
  std::string text() const { return failed() ? "failed: " + failure->message : bytes; }
  /// Which of several failures a value shows is open.
  friend bool operator==(const Outcome& a, const Outcome& b) { return a.failed() == b.failed() && a.bytes == b.bytes; }
};

struct RunOptions {
  bool donate = false;
  std::vector<std::uint8_t> failed_inputs = {};  // one an input, or empty: those that come as failures
};

/// Runs a program of this graph once. Expects that inputs which were not donated stay as they are, and that outputs
/// have the size of their type.
inline std::vector<Outcome> run_graph(Program& program, const Graph& graph, const InputBytes& inputs,
                                      const RunOptions& options = {}) {
  Backend& backend = backend_of(0);
  std::vector<ValueRef> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    BufferRef buffer = backend.allocate(inputs[i].size(), 0);
    backend.copy_from_host(*buffer, inputs[i].data(), inputs[i].size());
    values.push_back(Value::ready(std::move(buffer)));
    if (!options.failed_inputs.empty() && options.failed_inputs[i] != 0) {
      values[i]->failure = Failure::make(ErrorKind::value, "failed before", Source{});
    }
  }
  const std::vector<std::uint8_t> donated(inputs.size(), options.donate ? 1 : 0);
  std::vector<ValueRef> outputs;
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) outputs.push_back(Value::ready({}));
  program.run({values, donated, graph.scalars, outputs, graph.sources});
  std::vector<Outcome> outcomes;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    outcomes.push_back({outputs[k]->failure, {}});
    if (outcomes.back().failed()) continue;
    const Buffer& buffer = *outputs[k]->buffer;
    EXPECT_EQ(buffer.size(), byte_size(graph.nodes[graph.outputs[k]]));
    outcomes.back().bytes.assign(static_cast<const char*>(buffer.data()), buffer.size());
  }
  for (std::size_t i = 0; i < inputs.size() && !options.donate; ++i) {
    const auto* now = static_cast<const std::byte*>(values[i]->buffer->data());
    EXPECT_TRUE(std::equal(inputs[i].begin(), inputs[i].end(), now)) << "input " << i << " was written";
  }
  return outcomes;
}

}  // namespace lento::test

#include "native_support.h"

#include <lento/threads.h>

#include "backends/cpu/program.h"
#include "backends/reference/interpreter.h"
#include "base/dispatch.h"
#include "ir/infer.gen.h"
#include "ir/op.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace lento::test {

namespace {

/// The bytes of each output, or what it failed with.
std::vector<std::string> run(Program& program, const Graph& graph, const std::vector<Bytes>& inputs, bool donate) {
  Backend& backend = backend_of(0);
  std::vector<ValueRef> values;
  for (const Bytes& bytes : inputs) {
    BufferRef buffer = backend.allocate(bytes.size(), 0);
    backend.copy_from_host(*buffer, bytes.data(), bytes.size());
    values.push_back(Value::ready(std::move(buffer)));
  }
  const std::vector<std::uint8_t> donated(inputs.size(), donate ? 1 : 0);
  std::vector<ValueRef> outputs;
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) outputs.push_back(Value::ready({}));
  program.run({values, donated, graph.scalars, outputs, graph.sources});
  std::vector<std::string> results;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k]->failure) {
      results.push_back("failure: " + outputs[k]->failure->message);
    } else {
      const std::size_t bytes = byte_size(graph.nodes[graph.outputs[k]]);
      results.emplace_back(static_cast<const char*>(outputs[k]->buffer->data()), bytes);
    }
  }
  for (std::size_t i = 0; i < inputs.size() && !donate; ++i) {
    EXPECT_EQ(std::memcmp(inputs[i].data(), values[i]->buffer->data(), inputs[i].size()), 0) << "input " << i;
  }
  return results;
}

template <class Make>
Bytes elements(const Meta& meta, Make make) {
  const auto count = static_cast<std::size_t>(element_count(meta.shape));
  Bytes bytes(count * size_of(meta.dtype));
  for (std::size_t i = 0; i < count; ++i) make(bytes.data() + i * size_of(meta.dtype));
  return bytes;
}

/// A nan with other bits than those of most.
void write_odd_nan(DType dtype, std::byte* to, std::mt19937_64& random) {
  Scalar(std::nan("")).write(dtype, to);
  const std::size_t size = is_complex(dtype) ? size_of(dtype) / 2 : size_of(dtype);
  to[0] = static_cast<std::byte>(random());
  if (random() % 2 == 0) to[size - 1] ^= std::byte{0x80};
}

}  // namespace

Graph graph_of(Op op, AttrsId attrs, const std::vector<Meta>& tensors, const std::vector<ScalarArgument>& numbers) {
  Graph graph;
  std::vector<OperandRef> operands;
  for (const Meta& meta : tensors) {
    operands.push_back(OperandRef::leaf(static_cast<std::uint32_t>(graph.inputs.size())));
    graph.inputs.push_back({meta.dtype, intern_shape(meta.shape)});
  }
  for (const ScalarArgument& number : numbers) {
    operands.push_back(OperandRef::scalar(static_cast<std::uint32_t>(graph.scalars.size())));
    graph.scalars.push_back(number);
  }
  std::vector<Meta> results(info(op).result_count);
  infer_node(op, tensors, attrs, results);
  Record record{.op = op, .dtype = results[0].dtype};
  record.shape = intern_shape(results[0].shape);
  record.attrs = attrs;
  if (operands.size() <= Record::kInlineOperands) {
    record.operand_count = static_cast<std::uint8_t>(operands.size());
    std::ranges::copy(operands, record.operands);
  } else {
    record.operand_count = Record::kOperandList;
    record.operands[1].bits = static_cast<std::uint32_t>(operands.size());
    graph.operand_lists = operands;
  }
  graph.nodes.push_back(record);
  for (std::uint32_t i = 1; i < results.size(); ++i) {
    Record result{.op = Op::result, .dtype = results[i].dtype};
    result.operand_count = 1;
    result.shape = intern_shape(results[i].shape);
    result.operands[0] = OperandRef::record(0);
    result.result_index = i;
    graph.nodes.push_back(result);
  }
  graph.sources.resize(graph.nodes.size());
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) graph.outputs.push_back(i);
  verify(graph);
  return graph;
}

Bytes random_elements(const Meta& meta, std::mt19937_64& random) {
  return elements(meta, [&](std::byte* to) {
    if (!is_floating(meta.dtype) && !is_complex(meta.dtype)) {
      // Half of them small, half of them anything.
      const std::uint64_t bits = random() % 2 == 0 ? random() % 16 : random();
      if (meta.dtype == DType::bool_) {
        *to = static_cast<std::byte>(bits % 2);
      } else {
        std::memcpy(to, &bits, size_of(meta.dtype));
      }
      return;
    }
    const double special[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, std::nan(""), 1e-42, -3e4};
    if (random() % 32 == 0) {
      write_odd_nan(meta.dtype, to, random);
    } else if (random() % 8 == 0) {
      Scalar(special[random() % std::size(special)]).write(meta.dtype, to);
    } else {
      Scalar(std::round(std::normal_distribution(0.0, 3.0)(random) * 64) / 64).write(meta.dtype, to);
    }
  });
}

Bytes plain_elements(const Meta& meta, std::mt19937_64& random) {
  std::uniform_real_distribution real(-2.0, 2.0);
  return elements(meta, [&](std::byte* to) { Scalar(real(random)).write(meta.dtype, to); });
}

Bytes random_indices(const Meta& meta, std::int64_t low, std::int64_t high, std::mt19937_64& random) {
  std::uniform_int_distribution<std::int64_t> index(low, high);
  return elements(meta, [&](std::byte* to) { Scalar(index(random)).write(meta.dtype, to); });
}

void expect_like_reference(const Graph& graph, const std::vector<Bytes>& inputs) {
  reference::Interpreter reference(graph, 0);
  const std::vector<std::string> expected = run(reference, graph, inputs, false);
  cpu::CpuProgram program(graph, 0);
  const int before = num_threads();
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    for (const bool donate : {false, true}) {
      const std::vector<std::string> actual = run(program, graph, inputs, donate);
      for (std::size_t k = 0; k < actual.size(); ++k) {
        if (actual[k] == expected[k]) continue;
        const std::size_t size = size_of(graph.nodes[graph.outputs[k]].dtype);
        const auto [a, b] = std::ranges::mismatch(actual[k], expected[k]);
        ADD_FAILURE() << "element " << static_cast<std::size_t>(a - actual[k].begin()) / size << " of output " << k
                      << " on " << threads << " threads, donated: " << donate << "\n"
                      << to_string(graph) << (actual[k].starts_with("failure") ? actual[k] : "") << "\n"
                      << (expected[k].starts_with("failure") ? expected[k] : "");
      }
    }
  }
  set_num_threads(before);
}

std::vector<DType> all_dtypes() {
  std::vector<DType> dtypes;
  for (int i = 0; i < kDTypeCount; ++i) dtypes.push_back(static_cast<DType>(i));
  return dtypes;
}

}  // namespace lento::test

#include "native_support.h"

#include <lento/threads.h>

#include "backends/reference/interpreter.h"
#include "cpu/cpu_program.h"
#include "ir/graph_maker.h"
#include "ir/op.h"
#include "ir/run_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace lento::test {

namespace {

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
  GraphMaker maker;
  std::vector<OperandRef> operands;
  for (const Meta& meta : tensors) operands.push_back(maker.input(meta.dtype, meta.shape));
  for (const ScalarArgument& number : numbers) operands.push_back(maker.number(number.value, number.dtype));
  const OperandRef first = maker.node(op, operands, attrs);
  maker.output(first);
  for (std::uint32_t i = 1; i < info(op).result_count; ++i) maker.output(maker.result(first, i));
  verify(maker.graph);
  return std::move(maker.graph);
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
  const std::vector<Outcome> expected = run_graph(reference, graph, inputs);
  CompiledProgram program = cpu_program(graph);
  const int before = get_num_threads();
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    for (const bool donate : {false, true}) {
      RunOptions options;
      options.donate = donate;
      const std::vector<Outcome> actual = run_graph(program, graph, inputs, options);
      for (std::size_t k = 0; k < actual.size(); ++k) {
        if (actual[k].text() == expected[k].text()) continue;  // failures by their words, too
        const std::size_t size = size_of(graph.nodes[graph.outputs[k]].dtype);
        const auto [a, b] = std::ranges::mismatch(actual[k].bytes, expected[k].bytes);
        ADD_FAILURE() << "element " << static_cast<std::size_t>(a - actual[k].bytes.begin()) / size << " of output "
                      << k << " on " << threads << " threads, donated: " << donate << "\n"
                      << to_string(graph) << (actual[k].failed() ? actual[k].text() : "") << "\n"
                      << (expected[k].failed() ? expected[k].text() : "");
      }
    }
  }
  set_num_threads(before);
}

}  // namespace lento::test

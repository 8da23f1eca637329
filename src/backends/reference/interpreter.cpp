#include "backends/reference/interpreter.h"

#include "backend/node_call.h"
#include "backends/reference/dispatch.h"
#include "base/counters.h"
#include "base/fail.h"
#include "ir/op.h"
#include "ir/op_number.h"

#include <algorithm>
#include <new>

namespace lento::reference {

namespace {

constexpr std::uint32_t kNever = ~0U;
const CounterId kDonation = counter_id("donation");

/// The value of a node while it is needed: a buffer, or the reason there is none.
struct Outcome {
  BufferRef buffer;
  FailureRef failure;
};

}  // namespace

Interpreter::Interpreter(Graph graph, std::uint8_t device)
    : graph_(std::move(graph)),
      device_(device),
      last_use_of_node_(graph_.nodes.size(), kNever),
      last_use_of_input_(graph_.inputs.size(), kNever) {
  for (std::uint32_t node = 0; node < graph_.nodes.size(); ++node) {
    for (const OperandRef operand : graph_.operands(graph_.nodes[node])) {
      if (operand.kind() == OperandRef::Kind::record) last_use_of_node_[operand.index()] = node;
      if (operand.kind() == OperandRef::Kind::leaf) last_use_of_input_[operand.index()] = node;
    }
  }
  for (const std::uint32_t output : graph_.outputs) last_use_of_node_[output] = kNever;
  for (const Record& node : graph_.nodes) {
    // A plain loop does an element of a cheap op in about a nanosecond; a contraction is never short.
    const bool cheap = info(node.op).family != Family::contraction && info(node.op).family != Family::linalg;
    estimated_microseconds_ += 0.2 + static_cast<double>(element_count(shape_of(node.shape))) * (cheap ? 0.002 : 1.0);
    kernels_ += node.op != op::result ? 1 : 0;
  }
  plan_peak();
}

/// Follows what a run does with memory, with nothing donated.
void Interpreter::plan_peak() {
  std::size_t live = 0;
  for (std::uint32_t node = 0; node < graph_.nodes.size(); ++node) {
    const Record& record = graph_.nodes[node];
    if (record.op != op::result) {
      // Results that nobody asked for are there while the kernel runs.
      std::size_t wanted = 0;
      for (std::uint32_t r = 0; r < graph_.result_count(node); ++r) wanted += byte_size(graph_.nodes[node + r]);
      std::size_t all = wanted;
      if (graph_.result_count(node) < info(record.op).result_count) {
        all = 0;
        for (const Meta& meta : declared_results(graph_, record)) all += byte_size(meta);
      }
      planned_peak_ = std::max(planned_peak_, live + all);
      live += wanted;
    }
    const std::span<const OperandRef> operands = graph_.operands(record);
    for (auto it = operands.begin(); it != operands.end(); ++it) {
      const bool again = std::find(operands.begin(), it, *it) != it;
      if (again || it->kind() != OperandRef::Kind::record || last_use_of_node_[it->index()] != node) continue;
      live -= byte_size(graph_.nodes[it->index()]);
    }
  }
}

std::string Interpreter::text() const {
  return fmt::format("# reference: {} kernels run one after the other, planned peak {} bytes\n{}", kernels_,
                     planned_peak_, to_string(graph_));
}

/// The state of one run.
struct Interpreter::Run {
  const Interpreter& program;
  const Graph& graph;
  const RunArguments& arguments;
  std::vector<Outcome> values;  // by node; released after the last use

  explicit Run(const Interpreter& p, const RunArguments& a)
      : program(p), graph(p.graph_), arguments(a), values(graph.nodes.size()) {}

  const BufferRef& buffer_of(OperandRef operand) const {
    return operand.kind() == OperandRef::Kind::record ? values[operand.index()].buffer
                                                      : arguments.inputs[operand.index()]->buffer;
  }

  FailureRef failed_operand(const Record& record) const {
    for (const OperandRef operand : graph.operands(record)) {
      if (operand.kind() == OperandRef::Kind::record && values[operand.index()].failure)
        return values[operand.index()].failure;
      if (operand.kind() == OperandRef::Kind::leaf && arguments.inputs[operand.index()]->failure) {
        return arguments.inputs[operand.index()]->failure;
      }
    }
    return {};
  }

  /// From the device's own backend, which may be one that wraps this one.
  BufferRef allocate(std::size_t bytes) const { return backend_of(program.device_).allocate(bytes, program.device_); }

  /// The operand's own buffer when this node is its last reader and nobody else holds it; else a new one.
  BufferRef take_or_allocate(std::uint32_t node, const Record& record, OperandRef operand) {
    const std::uint32_t index = operand.index();
    const bool read_twice = std::ranges::count_if(graph.operands(record), [&](OperandRef other) {
                              return other.kind() != OperandRef::Kind::scalar && buffer_of(other) == buffer_of(operand);
                            }) > 1;
    if (!read_twice && operand.kind() == OperandRef::Kind::record && program.last_use_of_node_[index] == node &&
        values[index].buffer->unique()) {
      count(kDonation);
      return std::move(values[index].buffer);
    }
    if (!read_twice && operand.kind() == OperandRef::Kind::leaf && program.last_use_of_input_[index] == node &&
        arguments.donated[index] != 0) {
      count(kDonation);
      return arguments.inputs[index]->buffer;
    }
    return allocate(byte_size(record));
  }

  void run_node(std::uint32_t node) {
    const Record& record = graph.nodes[node];
    const std::uint32_t result_count = graph.result_count(node);
    const NodeContext context(record.op);
    FailureRef failure = failed_operand(record);
    if (!failure) {
      try {
        compute(node, record);
      } catch (const Error& error) {
        failure = Failure::make(error.kind(), error.what(), arguments.sources[node]);
      } catch (const std::bad_alloc&) {
        failure = Failure::make(ErrorKind::memory, complete_message("out of memory"), arguments.sources[node]);
      }
    }
    if (failure) {
      for (std::uint32_t r = 0; r < result_count; ++r) values[node + r] = {{}, failure};
    }
  }

  void compute(std::uint32_t node, const Record& record) {
    std::vector<BufferRef> results(graph.result_count(node));
    std::vector<BufferRef> unused;
    const auto input = [&](OperandRef operand) { return buffer_of(operand)->data(); };
    const auto result = [&](std::uint32_t wanted) {
      BufferRef& buffer = results[wanted - node];
      buffer = wanted == node && info(record.op).updates_first_operand
                   ? take_or_allocate(node, record, graph.operands(record)[0])
                   : allocate(byte_size(graph.nodes[wanted]));
      return buffer->data();
    };
    const auto scratch = [&](std::size_t bytes) {
      unused.push_back(allocate(bytes));
      return unused.back()->data();
    };
    call_node(graph, node, arguments.scalars, input, result, scratch,
              [](const NodeCall& call) { reference::run_node(call); });
    for (std::uint32_t r = 0; r < results.size(); ++r) values[node + r].buffer = std::move(results[r]);
  }

  void release_after(std::uint32_t node) {
    for (const OperandRef operand : graph.operands(graph.nodes[node])) {
      if (operand.kind() == OperandRef::Kind::record && program.last_use_of_node_[operand.index()] == node) {
        values[operand.index()] = {};
      }
    }
  }
};

void Interpreter::run(const RunArguments& arguments) {
  Run run(*this, arguments);
  for (std::uint32_t node = 0; node < graph_.nodes.size(); ++node) {
    if (graph_.nodes[node].op != op::result) run.run_node(node);
    run.release_after(node);
  }
  for (std::size_t k = 0; k < graph_.outputs.size(); ++k) {
    Outcome& outcome = run.values[graph_.outputs[k]];
    arguments.outputs[k]->buffer = outcome.buffer;
    arguments.outputs[k]->failure = outcome.failure;
  }
}

}  // namespace lento::reference

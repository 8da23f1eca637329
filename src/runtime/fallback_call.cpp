#include "runtime/fallback_call.h"

#include "base/counters.h"
#include "base/fail.h"
#include "ir/op_counters.h"
#include "runtime/make_program.h"

#include <lento/device.h>

#include <utility>
#include <vector>

namespace lento {

namespace {

/// fallback.<op>
const CounterId kFallback = make_op_counters("fallback.");
const CounterId kDownloads = counter_id("transfer.d2h");
const CounterId kUploads = counter_id("transfer.h2d");

std::uint8_t cpu_device() { return Device("cpu").id(); }

/// Copies between the device and the host in the middle of a run, in the order of its compute queue.
class Detour {
 public:
  explicit Detour(DeviceQueues& queues) : queues_(queues) {
    queues_.wait(Queue::download, queues_.record(Queue::compute));
  }

  void fetch(void* to_host, const void* from, std::size_t bytes) {
    queues_.download(to_host, from, bytes);
    count(kDownloads);
  }
  /// Blocks until everything is fetched, and so until the device has done all that was queued before.
  void wait() { queues_.record(Queue::download)->wait(); }

  void put(void* to, const void* from_host, std::size_t bytes) {
    queues_.upload(to, from_host, bytes);
    count(kUploads);
  }
  /// What is queued for computing from now on comes after what was put.
  void finish() {
    const FenceRef put = queues_.record(Queue::upload);
    queues_.wait(Queue::compute, put);
    put->wait();  // the host's memory is freed next
  }

 private:
  DeviceQueues& queues_;
};

/// The op alone, with its results, as a graph.
Graph graph_of(const Graph& graph, const Step& step) {
  const Record& record = graph.nodes[step.nodes[0]];
  Graph alone;
  std::vector<OperandRef> operands;
  for (const OperandRef operand : graph.operands(record)) {
    if (operand.kind() == OperandRef::Kind::scalar) {
      operands.push_back(OperandRef::scalar(static_cast<std::uint32_t>(alone.scalars.size())));
      alone.scalars.push_back(graph.scalars[operand.index()]);
      continue;
    }
    const bool is_node = operand.kind() == OperandRef::Kind::record;
    operands.push_back(OperandRef::leaf(static_cast<std::uint32_t>(alone.inputs.size())));
    alone.inputs.push_back(is_node ? GraphInput{graph.nodes[operand.index()].dtype, graph.nodes[operand.index()].shape}
                                   : graph.inputs[operand.index()]);
  }
  Record own = record;
  if (record.operand_count == Record::kOperandList) {
    own.operands[0].bits = 0;
    own.operands[1].bits = static_cast<std::uint32_t>(operands.size());
    alone.operand_lists = operands;
  } else {
    for (std::size_t i = 0; i < operands.size(); ++i) own.operands[i] = operands[i];
  }
  alone.nodes.push_back(own);
  for (std::size_t r = 1; r < step.nodes.size(); ++r) {
    Record result = graph.nodes[step.nodes[r]];
    result.operands[0] = OperandRef::record(0);
    alone.nodes.push_back(result);
  }
  for (std::uint32_t node = 0; node < alone.nodes.size(); ++node) alone.outputs.push_back(node);
  alone.sources.resize(alone.nodes.size());
  return alone;
}

class FallbackCall final : public PreparedCall {
 public:
  FallbackCall(Graph graph, DeviceQueues& queues, const CompileOptions& options)
      : graph_(std::move(graph)), queues_(queues), program_(make_program(graph_, cpu_device(), options)) {}

  void run(const CallArguments& arguments) const override {
    const std::uint8_t cpu = cpu_device();
    Backend& host = backend_of(cpu);
    const Record& op = graph_.nodes[0];
    count(kFallback + static_cast<CounterId>(op.op));
    std::vector<ValueRef> inputs;
    std::vector<ScalarArgument> numbers;
    Detour detour(queues_);
    for (std::size_t i = 0; i < arguments.operands.size(); ++i) {
      if (arguments.numbers[i] != nullptr) {
        numbers.push_back(*arguments.numbers[i]);
        continue;
      }
      const std::size_t bytes = byte_size(graph_.inputs[inputs.size()]);
      BufferRef buffer = host.allocate(bytes, cpu);
      detour.fetch(buffer->data(), arguments.operands[i], bytes);
      inputs.push_back(Value::ready(std::move(buffer)));
    }
    detour.wait();
    std::vector<ValueRef> outputs;
    for (std::size_t k = 0; k < graph_.outputs.size(); ++k) outputs.push_back(Value::ready({}));
    const std::vector<std::uint8_t> donated(inputs.size(), 1);
    program_->run({inputs, donated, numbers, outputs, graph_.sources});
    for (const ValueRef& output : outputs) {
      if (output->failure) Error::raise(output->failure->kind, output->failure->message);
    }
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Record& record = graph_.nodes[k];
      void* const to = arguments.results[k == 0 ? 0 : record.result_index];
      detour.put(to, outputs[k]->buffer->data(), byte_size(record));
    }
    detour.finish();
  }
  bool waits() const override { return true; }
  double nanoseconds() const override { return program_->estimated_microseconds() * 1000; }
  std::size_t bytes() const override { return program_->bytes(); }

 private:
  Graph graph_;
  DeviceQueues& queues_;
  std::unique_ptr<Program> program_;
};

}  // namespace

std::unique_ptr<const PreparedCall> make_fallback_call(const Graph& graph, const Step& step, DeviceQueues& queues,
                                                       const CompileOptions& options) {
  return std::make_unique<FallbackCall>(graph_of(graph, step), queues, options);
}

void run_node_on_host(const NodeCall& call, DeviceQueues& queues) {
  const auto bytes_of = [](const NodeCall::Tensor& tensor) { return byte_size(tensor.dtype, *tensor.shape); };
  NodeCall here = call;
  std::vector<BufferRef> memory;
  const auto give_memory = [&](NodeCall::Tensor& tensor) {
    memory.push_back(queues.host_memory(bytes_of(tensor)));
    tensor.data = memory.back()->data();
  };
  Detour detour(queues);
  for (NodeCall::Tensor& operand : here.operands) {
    if (operand.number != nullptr) continue;
    const void* const from = operand.data;
    give_memory(operand);
    detour.fetch(operand.data, from, bytes_of(operand));
  }
  for (NodeCall::Tensor& result : here.results) give_memory(result);
  detour.wait();
  backend_of(cpu_device()).driver(cpu_device())->run_node(here);
  for (std::size_t r = 0; r < here.results.size(); ++r) {
    detour.put(call.results[r].data, here.results[r].data, bytes_of(call.results[r]));
  }
  detour.finish();
}

}  // namespace lento

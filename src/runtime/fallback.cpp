#include "runtime/fallback.h"

#include "base/counters.h"
#include "base/fail.h"
#include "base/progress.h"
#include "compiler/view.h"
#include "ir/op_counters.h"
#include "runtime/make_program.h"

#include <lento/device.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace lento {

namespace {

/// fallback.<op>
const CounterId kFallback = make_op_counters("fallback.");
const CounterId kDownloads = counter_id("transfer.d2h");
const CounterId kUploads = counter_id("transfer.h2d");

/// Copies between the device and the host in the middle of a run, in the order of its compute queue. The host waits for
/// that queue, and never a queue of copies, which others use for values that are there (clause D3).
class Detour {
 public:
  explicit Detour(DeviceQueues& queues) : queues_(queues) {}
  Detour(const Detour&) = delete;
  Detour& operator=(const Detour&) = delete;
  /// When something has thrown, the memory on both sides is freed next.
  ~Detour() { wait(); }

  /// Between fetching and putting comes a wait().
  void fetch(void* to_host, const void* from, std::size_t bytes) {
    begin(Queue::download);
    queues_.download(to_host, from, bytes);
    count(kDownloads);
  }
  void put(void* to, const void* from_host, std::size_t bytes) {
    begin(Queue::upload);
    queues_.upload(to, from_host, bytes);
    count(kUploads);
  }
  /// Blocks until all of it has been copied.
  void wait() noexcept {
    if (!copying_) return;
    queues_.record(*copying_, copied_);
    copied_->wait();
    copying_.reset();
  }

 private:
  /// What is fetched is there, and the memory for what is put is used by nothing any more.
  void begin(Queue queue) {
    if (copying_) return;
    copied_ = queues_.make_fence();
    queues_.record(Queue::compute)->wait();
    copying_ = queue;
  }

  DeviceQueues& queues_;
  std::optional<Queue> copying_;  // what has begun and may not have ended
  FenceRef copied_;               // where it will have
};

/// Cuts steps out of a graph, with what leads from one to another without a step of its own: views of their values.
class Cut {
 public:
  Cut(const Graph& graph, const Schedule& schedule, std::uint32_t first, std::uint32_t last)
      : graph_(graph),
        schedule_(schedule),
        has_step_(graph.nodes.size()),
        computed_(graph.nodes.size()),
        taken_(graph.nodes.size()) {
    for (const Step& step : schedule.steps) {
      for (const std::uint32_t node : step.nodes) has_step_[node] = 1;
    }
    for (std::uint32_t s = first; s <= last; ++s) {
      for (const std::uint32_t node : schedule.steps[s].nodes) computed_[node] = taken_[node] = 1;
    }
    // Operands come earlier: from the end, every view is taken before its own operands are looked at.
    for (std::size_t node = graph.nodes.size(); node-- > 0;) {
      if (taken_[node] == 0) continue;
      for (const OperandRef operand : graph.operands(graph.nodes[node])) {
        if (is_computed(operand)) taken_[operand.index()] = 1;
      }
    }
    find_used();
    for (std::uint32_t node = 0; node < graph.nodes.size(); ++node) {
      if (taken_[node] != 0) take(node);
    }
  }

  Graph region;
  std::vector<std::uint32_t> nodes;    // of the graph, one per node of the region
  std::vector<OperandRef> inputs;      // one per input of the region
  std::vector<std::uint32_t> numbers;  // one per number of the region
  std::vector<std::uint32_t> outputs;  // of the graph, one per output of the region

 private:
  /// What lies in memory where an operand is read. A view between two others may have no memory, and no home.
  OperandRef base_of(OperandRef operand) const {
    while (true) {
      operand = schedule_.home(operand);
      if (operand.kind() != OperandRef::Kind::record || has_step_[operand.index()] != 0) return operand;
      const Record& view = graph_.nodes[operand.index()];
      if (!is_view_op(view.op)) return operand;
      operand = graph_.operands(view)[0];
    }
  }

  /// Whether the operand is a value of one of the steps, or a view of it.
  bool is_computed(OperandRef operand) const {
    const OperandRef base = base_of(operand);
    return base.kind() == OperandRef::Kind::record && computed_[base.index()] != 0;
  }

  void find_used() {
    used_.resize(graph_.nodes.size());
    const auto use = [&](OperandRef operand) {
      if (is_computed(operand)) used_[base_of(operand).index()] = 1;
    };
    for (std::uint32_t node = 0; node < graph_.nodes.size(); ++node) {
      if (taken_[node] != 0) continue;
      for (const OperandRef operand : graph_.operands(graph_.nodes[node])) use(operand);
    }
    for (const std::uint32_t output : graph_.outputs) use(OperandRef::record(output));
  }

  OperandRef input(OperandRef operand) {
    const auto found = std::ranges::find(inputs, operand);
    const auto index = static_cast<std::uint32_t>(found - inputs.begin());
    if (found == inputs.end()) {
      inputs.push_back(operand);
      const bool is_node = operand.kind() == OperandRef::Kind::record;
      const Record* const node = is_node ? &graph_.nodes[operand.index()] : nullptr;
      region.inputs.push_back(is_node ? GraphInput{node->dtype, node->shape} : graph_.inputs[operand.index()]);
    }
    return OperandRef::leaf(index);
  }

  OperandRef mapped(OperandRef operand) {
    if (operand.kind() == OperandRef::Kind::scalar) {
      numbers.push_back(operand.index());
      region.scalars.push_back(graph_.scalars[operand.index()]);
      return OperandRef::scalar(static_cast<std::uint32_t>(numbers.size() - 1));
    }
    const bool is_inside = operand.kind() == OperandRef::Kind::record && taken_[operand.index()] != 0;
    if (!is_inside) return input(operand);
    const auto place = std::ranges::lower_bound(nodes, operand.index());
    return OperandRef::record(static_cast<std::uint32_t>(place - nodes.begin()));
  }

  void take(std::uint32_t node) {
    Record record = graph_.nodes[node];
    std::vector<OperandRef> operands;
    for (const OperandRef operand : graph_.operands(record)) operands.push_back(mapped(operand));
    if (record.operand_count == Record::kOperandList) {
      record.operands[0].bits = static_cast<std::uint32_t>(region.operand_lists.size());
      record.operands[1].bits = static_cast<std::uint32_t>(operands.size());
      region.operand_lists.insert(region.operand_lists.end(), operands.begin(), operands.end());
    } else {
      std::ranges::copy(operands, record.operands);
    }
    if (computed_[node] != 0 && used_[node] != 0) {
      outputs.push_back(node);
      region.outputs.push_back(static_cast<std::uint32_t>(nodes.size()));
    }
    nodes.push_back(node);
    region.nodes.push_back(record);
    region.sources.emplace_back();
  }

  const Graph& graph_;
  const Schedule& schedule_;
  std::vector<std::uint8_t> has_step_;  // of the schedule
  std::vector<std::uint8_t> computed_;  // by the steps of the region
  std::vector<std::uint8_t> taken_;     // those, and views of them
  std::vector<std::uint8_t> used_;      // by others
};

}  // namespace

void count_fallback(Op op) { count(kFallback + static_cast<CounterId>(op)); }

FallbackRegion::FallbackRegion(const Graph& graph, const Schedule& schedule, std::uint32_t first_step,
                               std::uint32_t last_step, DeviceQueues& queues, const CompileOptions& options)
    : first(first_step), last(last_step), queues_(queues) {
  Cut cut(graph, schedule, first, last);
  // The host counts those that the user forbids it too.
  const bool host_counts = backend_of(kHostDevice).driver(kHostDevice) != nullptr;
  for (std::uint32_t s = first; s <= last; ++s) {
    const Op op = graph.nodes[schedule.steps[s].nodes[0]].op;
    if (!host_counts || !options.falls_back(op)) counted_.push_back(op);
  }
  for (const std::uint32_t node : cut.nodes) origins_.push_back(graph.origin(node));
  for (const GraphInput& input : cut.region.inputs) input_bytes_.push_back(byte_size(input));
  for (const std::uint32_t output : cut.outputs) output_bytes_.push_back(byte_size(graph.nodes[output]));
  inputs_ = std::move(cut.inputs);
  numbers_ = std::move(cut.numbers);
  outputs_ = std::move(cut.outputs);
  program_ = make_program(std::move(cut.region), kHostDevice, options);
}

std::vector<ValueRef> FallbackRegion::compute(std::span<const Input> inputs, std::span<const ScalarArgument> numbers,
                                              std::span<const Source> sources) const {
  std::vector<ValueRef> here;
  Detour detour(queues_);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].failure) {
      here.push_back(Value::failed(inputs[i].failure));
      continue;
    }
    BufferRef buffer = backend_of(kHostDevice).allocate(input_bytes_[i], kHostDevice);
    here.push_back(Value::ready(buffer));
    detour.fetch(buffer->data(), inputs[i].address, input_bytes_[i]);
  }
  detour.wait();
  std::vector<ScalarArgument> own_numbers;
  for (const std::uint32_t number : numbers_) own_numbers.push_back(numbers[number]);
  std::vector<Source> own_sources;
  for (const std::uint32_t origin : origins_) own_sources.push_back(sources[origin]);
  std::vector<ValueRef> results;
  for (std::size_t k = 0; k < outputs_.size(); ++k) results.push_back(Value::ready({}));
  std::vector<std::uint8_t> donated;
  for (const Input& input : inputs) donated.push_back(input.failure ? 0 : 1);  // what has failed has no memory to give
  const HostComputes computes;
  program_->run({here, donated, own_numbers, results, own_sources});
  for (const Op op : counted_) count_fallback(op);
  return results;
}

void FallbackRegion::put(std::span<const ValueRef> outputs, std::span<void* const> addresses) const {
  Detour detour(queues_);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (addresses[k] != nullptr) detour.put(addresses[k], outputs[k]->buffer->data(), output_bytes_[k]);
  }
  detour.wait();
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
  {
    const HostComputes computes;
    backend_of(Device("reference").id()).run_node(here);
  }
  for (std::size_t r = 0; r < here.results.size(); ++r) {
    detour.put(call.results[r].data, here.results[r].data, bytes_of(call.results[r]));
  }
  detour.wait();
}

}  // namespace lento

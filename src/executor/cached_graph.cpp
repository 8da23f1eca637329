// Running what was recorded before with other inputs: a cached plan by its key, or a computation that was captured.
// What it computes is recorded again, and finds the plan.
#include <lento/cache.h>
#include <lento/eval.h>

#include "base/devices.h"
#include "base/fail.h"
#include "base/format.h"
#include "executor/evaluate.h"
#include "executor/plan_cache.h"
#include "ir/graph.h"
#include "tensor/record.h"
#include "tensor/state_pool.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace lento::cache {

namespace {

bool takes(const Graph& graph, const std::vector<Tensor>& inputs) {
  return std::ranges::equal(graph.inputs, inputs, [](const GraphInput& wanted, const Tensor& given) {
    return wanted.dtype == given.dtype() && shape_of(wanted.shape) == given.shape();
  });
}

std::string inputs_text(const Graph& graph) {
  std::string text;
  for (const GraphInput& input : graph.inputs)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", input.dtype, shape_of(input.shape));
  return text.empty() ? "none" : text;
}

PlanPtr find_plan(std::uint64_t key, const std::vector<Tensor>& inputs) {
  PlanPtr found;
  PlanPtr other;
  for (const PlanPtr& plan : plan_cache().plans(std::numeric_limits<std::size_t>::max())) {
    if (plan->hash != key) continue;
    if (!takes(plan->graph, inputs)) {
      other = plan;
    } else if (found == nullptr) {
      found = plan;
    } else if (plan->device != found->device || !same_structure(plan->graph, found->graph)) {
      fail<ValueError>("the key {:016x} is that of several cached plans: their hashes are equal by chance", key);
    }
  }
  if (found != nullptr) return found;
  if (other == nullptr)
    fail<ValueError>("no cached plan has the key {:016x}: it was never computed, or it has been evicted", key);
  fail<ValueError>("the plan with the key {:016x} takes other inputs: {}", key, inputs_text(other->graph));
}

void check_device(const Tensor& input, Device device) {
  if (input.device() != device)
    fail<DeviceError>("the plan runs on {}, an input is on {}", device.to_string(), input.device().to_string());
}

/// Records the graph again with these inputs and starts computing it. Returns its outputs.
std::vector<Tensor> compute(const Graph& graph, Device device, const std::vector<Tensor>& inputs,
                            const std::source_location& site) {
  for (const Tensor& input : inputs) check_device(input, device);
  std::vector<Tensor> values(graph.nodes.size());
  for (std::uint32_t node = 0; node < graph.nodes.size();) {
    const Record& record = graph.nodes[node];
    std::vector<RecordOperand> operands;
    for (const OperandRef operand : graph.operands(record)) {
      if (operand.kind() == OperandRef::Kind::scalar) {
        const ScalarArgument& number = graph.scalars[operand.index()];
        operands.push_back(RecordOperand::number(number.value, number.dtype));
      } else {
        const bool is_input = operand.kind() == OperandRef::Kind::leaf;
        operands.emplace_back(is_input ? inputs[operand.index()] : values[operand.index()]);
      }
    }
    const std::uint32_t count = graph.result_count(node);
    if (count == 1) {
      values[node] = record_on(device, record.op, Meta{record.dtype, shape_of(record.shape)}, operands, record.attrs);
    } else {
      std::vector<Meta> metas;
      for (std::uint32_t result = node; result < node + count; ++result)
        metas.push_back({graph.nodes[result].dtype, shape_of(graph.nodes[result].shape)});
      std::vector<Tensor> results = record_multi(record.op, metas, operands, record.attrs);
      std::ranges::move(results, values.begin() + node);
    }
    node += count;
  }
  std::vector<Tensor> outputs;
  for (const std::uint32_t output : graph.outputs) outputs.push_back(values[output]);
  values.clear();  // what nobody holds is no output, so that the plan is found
  eval(outputs, site);
  return outputs;
}

}  // namespace

std::vector<Tensor> run(std::uint64_t key, const std::vector<Tensor>& inputs, std::source_location site) {
  const CallScope scope("run", site);
  const PlanPtr plan = find_plan(key, inputs);
  return compute(plan->graph, RegisteredDevice::of(plan->device), inputs, site);
}

// --- capture ---

namespace {

/// Where a tensor comes from when a captured computation runs.
struct Origin {
  enum class Kind : std::uint8_t { input, constant, output } kind;
  std::size_t index;
};

/// A handle on what an input of the graph is now, which may be somebody's tensor.
Tensor hold(const PendingGraph& trace, std::size_t input) {
  TensorState* state = make_state(trace.graph.inputs[input].dtype, trace.graph.inputs[input].shape, trace.device);
  state->value = trace.inputs[input];
  return Tensor::adopt(state);
}

}  // namespace

struct [[gnu::visibility("hidden")]] Captured::State {
  Graph graph;
  Device device;
  std::uint64_t key = 0;
  std::vector<GraphInput> wanted;  // of each input of the caller's
  std::vector<Tensor> constants;
  std::vector<Origin> reads;  // of each input of the graph: an input or a constant
  std::vector<Origin> gives;  // of each output of the caller's: any of the three

  Origin add_constant(Tensor tensor) {
    constants.push_back(std::move(tensor));
    return {Origin::Kind::constant, constants.size() - 1};
  }
};

Captured capture(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, std::source_location site) {
  const CallScope scope("capture", site);
  auto state = std::make_shared<Captured::State>();
  std::vector<TensorState*> pending;
  for (const Tensor& input : inputs) {
    if (input.is_pending())
      fail<ValueError>("input {} is pending: evaluate the inputs before the outputs are recorded",
                       state->wanted.size());
    state->wanted.push_back({input.dtype(), state_of(input).shape});
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (state_of(inputs[i]).value.get() == state_of(inputs[j]).value.get())
        fail<ValueError>("inputs {} and {} are the same tensor: the trace cannot tell them apart", j, i);
    }
  }
  for (const Tensor& output : outputs) pending.push_back(&state_of(output));
  const PendingGraph trace = pending_graph(pending);
  state->graph = trace.graph;
  state->device = RegisteredDevice::of(trace.device);
  if (!trace.graph.nodes.empty()) state->key = structure_hash(trace.graph, trace.device);

  const auto find_input = [&](const Value* value) -> std::optional<Origin> {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (state_of(inputs[i]).value.get() == value) return Origin{Origin::Kind::input, i};
    }
    return std::nullopt;
  };
  for (std::size_t i = 0; i < trace.inputs.size(); ++i) {
    const std::optional<Origin> input = find_input(trace.inputs[i].get());
    state->reads.push_back(input ? *input : state->add_constant(hold(trace, i)));
  }
  for (const Tensor& output : outputs) {
    const auto place = std::ranges::find(trace.output_ids, output.id());
    if (place != trace.output_ids.end()) {
      state->gives.push_back({Origin::Kind::output, static_cast<std::size_t>(place - trace.output_ids.begin())});
    } else {
      const std::optional<Origin> input = find_input(state_of(output).value.get());
      state->gives.push_back(input ? *input : state->add_constant(output));
    }
  }
  eval(outputs, site);
  Captured made;
  made.state_ = std::move(state);
  return made;
}

std::vector<Tensor> Captured::operator()(const std::vector<Tensor>& inputs, std::source_location site) const {
  const CallScope scope("captured", site);
  if (state_ == nullptr) fail<ValueError>("nothing was captured");
  const State& state = *state_;
  if (inputs.size() != state.wanted.size())
    fail<ValueError>("{} inputs were given, {} were captured", inputs.size(), state.wanted.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const GraphInput& wanted = state.wanted[i];
    if (inputs[i].dtype() != wanted.dtype || inputs[i].shape() != shape_of(wanted.shape)) {
      fail<ValueError>("input {} is {}{}; {}{} was captured", i, inputs[i].dtype(), inputs[i].shape(), wanted.dtype,
                       shape_of(wanted.shape));
    }
  }
  std::vector<Tensor> read;
  for (const Origin& origin : state.reads) {
    read.push_back(origin.kind == Origin::Kind::input ? inputs[origin.index] : state.constants[origin.index]);
  }
  std::vector<Tensor> computed;
  if (!state.graph.nodes.empty()) computed = compute(state.graph, state.device, read, site);
  std::vector<Tensor> outputs;
  for (const Origin& origin : state.gives) {
    const std::vector<Tensor>& from = origin.kind == Origin::Kind::input      ? inputs
                                      : origin.kind == Origin::Kind::constant ? state.constants
                                                                              : computed;
    outputs.push_back(from[origin.index]);
  }
  return outputs;
}

std::uint64_t Captured::key() const { return state_ == nullptr ? 0 : state_->key; }

}  // namespace lento::cache

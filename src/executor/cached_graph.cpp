// Running a cached plan by its key: what it computes is recorded again with other inputs, and finds the plan.
#include <lento/cache.h>
#include <lento/eval.h>

#include "base/fail.h"
#include "base/format.h"
#include "executor/plan_cache.h"
#include "ir/graph.h"
#include "tensor/record.h"

#include <algorithm>
#include <limits>

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

}  // namespace

std::vector<Tensor> run(std::uint64_t key, const std::vector<Tensor>& inputs, std::source_location site) {
  const CallScope scope("run", site);
  const PlanPtr plan = find_plan(key, inputs);
  const Graph& graph = plan->graph;
  const Device device = Device::from_id(plan->device);
  for (const Tensor& input : inputs) {
    if (input.device() != device)
      fail<DeviceError>("the plan runs on {}, an input is on {}", device.to_string(), input.device().to_string());
  }
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

}  // namespace lento::cache

#include "compiler/schedule.h"

#include "base/fail.h"
#include "compiler/batches.h"
#include "compiler/chains.h"
#include "compiler/fuse_into_kernels.h"
#include "compiler/place_values.h"
#include "ir/op.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <unordered_map>

namespace lento {

namespace {

/// The number of a kernel among those of the schedule, which has each once.
class KernelNumbers {
 public:
  explicit KernelNumbers(std::vector<Kernel>& kernels) : kernels_(kernels) {}

  std::uint32_t of(Kernel&& kernel) {
    const std::uint64_t key = hash(kernel);
    const auto [first, last] = known_.equal_range(key);
    const auto same = std::find_if(first, last, [&](const auto& entry) { return kernels_[entry.second] == kernel; });
    if (same != last) return same->second;
    const auto number = static_cast<std::uint32_t>(kernels_.size());
    known_.emplace(key, number);
    kernels_.push_back(std::move(kernel));
    return number;
  }

 private:
  std::vector<Kernel>& kernels_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> known_;  // by hash
};

CallStep call_step(const Graph& graph, const Target& target, const Fusion& fusion, const Record& record) {
  CallStep call;
  if (!target.takes_views(record.op)) return call;
  for (const OperandRef operand : graph.operands(record)) {
    if (operand.kind() == OperandRef::Kind::scalar) {
      call.views.push_back({operand, {}, {}, {}});
      continue;
    }
    const bool is_view = operand.kind() == OperandRef::Kind::record &&
                         fusion.roles[operand.index()] == NodeRole::view && fusion.stored[operand.index()] == 0;
    call.views.push_back(is_view ? *fusion.views[operand.index()] : whole(operand, graph.meta_of(operand).shape));
    call.views.back().base = fusion.home(call.views.back().base);
  }
  return call;
}

/// The steps: first all kernels, then all calls.
void make_steps(const Graph& graph, const Target& target, const CompileOptions& options, Schedule& schedule) {
  auto [fusion, kernels] = fuse_into_kernels(graph, target, options);
  KernelNumbers numbers(schedule.kernels);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (!kernels[i]) continue;
    auto& [kernel, step] = *kernels[i];
    const Group& group = fusion.groups[i];
    const double cost = static_cast<double>(element_count(group.shape)) * static_cast<double>(kernel.body.size());
    step.kernel = numbers.of(std::move(kernel));
    schedule.steps.push_back({std::move(step), group.nodes, cost});
  }
  for (std::uint32_t node = 0; node < graph.nodes.size(); ++node) {
    if (fusion.roles[node] != NodeRole::call) continue;
    const Record& record = graph.nodes[node];
    std::vector<std::uint32_t> nodes(graph.result_count(node));
    std::iota(nodes.begin(), nodes.end(), node);
    const double cost = static_cast<double>(element_count(shape_of(record.shape))) * 10;
    schedule.steps.push_back({call_step(graph, target, fusion, record), std::move(nodes), cost});
  }
  schedule.same_as = std::move(fusion.same_as);
}

/// An order in which every step comes after those it reads from, and otherwise as the trace had it: what was recorded
/// together is used together, and memory is free again early.
void put_in_order(const Graph& graph, Schedule& schedule) {
  std::vector<Step>& steps = schedule.steps;
  std::vector<std::uint32_t> step_of(graph.nodes.size(), ~0U);
  for (std::uint32_t s = 0; s < steps.size(); ++s) {
    for (const std::uint32_t node : steps[s].nodes) step_of[node] = s;
  }
  std::vector<std::vector<std::uint32_t>> followers(steps.size());
  std::vector<std::uint32_t> waits_for(steps.size(), 0);
  for (std::uint32_t s = 0; s < steps.size(); ++s) {
    for (const std::uint32_t node : nodes_read(graph, schedule, steps[s])) {
      followers[step_of[node]].push_back(s);
      ++waits_for[s];
    }
  }
  using Entry = std::pair<std::uint32_t, std::uint32_t>;  // last node, step
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (std::uint32_t s = 0; s < steps.size(); ++s) {
    if (waits_for[s] == 0) ready.emplace(steps[s].nodes.back(), s);
  }
  std::vector<Step> ordered;
  ordered.reserve(steps.size());
  while (!ready.empty()) {
    const std::uint32_t s = ready.top().second;
    ready.pop();
    for (const std::uint32_t follower : followers[s]) {
      if (--waits_for[follower] == 0) ready.emplace(steps[follower].nodes.back(), follower);
    }
    ordered.push_back(std::move(steps[s]));
  }
  if (ordered.size() != steps.size()) {
    fail<BackendError>("schedule: {} of {} steps read what comes after them", steps.size() - ordered.size(),
                       steps.size());
  }
  steps = std::move(ordered);
}

}  // namespace

std::vector<Turn> turns(const Schedule& schedule) {
  std::vector<Turn> all;
  auto chain = schedule.chains.begin();
  auto batch = schedule.batches.begin();
  for (std::uint32_t s = 0; s < schedule.steps.size(); s = all.back().last + 1) {
    if (chain != schedule.chains.end() && chain->first == s) {
      all.push_back({Turn::Kind::chain, s, (chain++)->last});
    } else if (batch != schedule.batches.end() && batch->first == s) {
      all.push_back({Turn::Kind::batch, s, (batch++)->last});
    } else {
      all.push_back({Turn::Kind::step, s, s});
    }
  }
  return all;
}

std::vector<OperandRef> reads(const Graph& graph, const Schedule& schedule, const Step& step) {
  std::vector<OperandRef> operands;
  if (step.is_kernel()) {
    const KernelStep& run = step.kernel();
    const Kernel& kernel = schedule.kernels[run.kernel];
    for (std::size_t i = 0; i < run.operands.size(); ++i) {
      if (!kernel.operands[i].output && !kernel.operands[i].counted) operands.push_back(run.operands[i].base);
    }
  } else if (!step.call().views.empty()) {
    for (const View& view : step.call().views) {
      if (view.base.kind() != OperandRef::Kind::scalar) operands.push_back(view.base);
    }
  } else {
    for (const OperandRef operand : graph.operands(graph.nodes[step.nodes[0]])) {
      if (operand.kind() != OperandRef::Kind::scalar) operands.push_back(schedule.home(operand));
    }
  }
  return operands;
}

std::vector<std::uint32_t> nodes_read(const Graph& graph, const Schedule& schedule, const Step& step) {
  std::vector<std::uint32_t> nodes;
  for (const OperandRef operand : reads(graph, schedule, step)) {
    if (operand.kind() == OperandRef::Kind::record) nodes.push_back(operand.index());
  }
  return nodes;
}

Schedule make_schedule(const Graph& graph, const Target& target, const CompileOptions& options) {
  Schedule schedule;
  make_steps(graph, target, options, schedule);
  put_in_order(graph, schedule);
  find_in_place(graph, schedule);
  if (target.tile_elements != 0) schedule.chains = find_chains(schedule, target.tile_elements);
  if (options.fusion) schedule.batches = gather_batches(graph, target, schedule);
  place_values(graph, target, schedule);
  return schedule;
}

}  // namespace lento

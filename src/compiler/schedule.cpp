#include "compiler/schedule.h"

#include "compiler/build_kernel.h"
#include "compiler/chains.h"
#include "compiler/place_values.h"
#include "ir/op.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <unordered_map>

namespace lento {

namespace {

/// Lets calls copy the picked rows that a group reads; false when it reads none.
bool copy_picked(const Graph& graph, const Fusion& fusion, const Group& group, std::vector<std::uint8_t>& alone) {
  bool any = false;
  const auto copy = [&](OperandRef operand) {
    if (operand.kind() != OperandRef::Kind::record || !fusion.views[operand.index()]) return;
    if (!fusion.views[operand.index()]->picked) return;
    alone[operand.index()] = 1;
    any = true;
  };
  for (const std::uint32_t node : group.nodes) {
    copy(OperandRef::record(node));
    for (const OperandRef operand : graph.operands(graph.nodes[node])) copy(operand);
  }
  return any;
}

/// Lets the reductions of a group read their operands from memory, contiguous; false when they do so already.
bool set_reductions_apart(const Graph& graph, const Group& group, std::vector<std::uint8_t>& apart) {
  bool any = false;
  for (const std::uint32_t node : group.nodes) {
    if (info(graph.nodes[node].op).family != Family::reduction || apart[node] != 0) continue;
    apart[node] = 1;
    any = true;
  }
  return any;
}

/// Fuses until every group has a kernel. A group without one is fused again under the first of these conditions that is
/// new to it: the rows that it picks are copied by calls; its reductions read their operands where they are stored; its
/// reductions, or all its nodes if it has none, are calls.
void make_steps(const Graph& graph, const Target& target, const CompileOptions& options, Schedule& schedule) {
  SetApart apart(graph);
  std::vector<Kernel>& kernels = schedule.kernels;
  while (true) {
    Fusion fusion = fuse(graph, target, options, apart);
    kernels.clear();
    std::unordered_multimap<std::uint64_t, std::uint32_t> known;
    std::vector<Step> steps;
    bool all = true;
    for (const Group& group : fusion.groups) {
      if (group.nodes.empty()) continue;
      std::optional<BuiltKernel> built = build_kernel(graph, target, fusion, group);
      if (!built) {
        all = false;
        if (copy_picked(graph, fusion, group, apart.calls)) continue;
        if (set_reductions_apart(graph, group, apart.reductions)) continue;
        for (const std::uint32_t node : group.nodes) {
          if (group.reduced.count == 0 || info(graph.nodes[node].op).family == Family::reduction) apart.calls[node] = 1;
        }
        continue;
      }
      const std::uint64_t key = hash(built->kernel);
      const auto [first, last] = known.equal_range(key);
      const auto same =
          std::find_if(first, last, [&](const auto& entry) { return kernels[entry.second] == built->kernel; });
      if (same != last) {
        built->step.kernel = same->second;
      } else {
        built->step.kernel = static_cast<std::uint32_t>(kernels.size());
        known.emplace(key, built->step.kernel);
        kernels.push_back(std::move(built->kernel));
      }
      const double cost = static_cast<double>(element_count(group.shape)) *
                          static_cast<double>(kernels[built->step.kernel].body.size());
      steps.push_back({std::move(built->step), group.nodes, cost});
    }
    if (!all) continue;
    for (std::uint32_t node = 0; node < graph.nodes.size(); ++node) {
      if (fusion.roles[node] != NodeRole::call) continue;
      CallStep call;
      if (target.takes_views(graph.nodes[node].op)) {
        for (const OperandRef operand : graph.operands(graph.nodes[node])) {
          if (operand.kind() == OperandRef::Kind::scalar) {
            call.views.push_back({operand, {}, {}, {}});
            continue;
          }
          const bool is_view = operand.kind() == OperandRef::Kind::record &&
                               fusion.roles[operand.index()] == NodeRole::view && fusion.stored[operand.index()] == 0;
          call.views.push_back(is_view ? *fusion.views[operand.index()] : whole(operand, graph.meta_of(operand).shape));
          call.views.back().base = fusion.home(call.views.back().base);
        }
      }
      std::vector<std::uint32_t> nodes(graph.result_count(node));
      std::iota(nodes.begin(), nodes.end(), node);
      const double cost = static_cast<double>(element_count(shape_of(graph.nodes[node].shape))) * 10;
      steps.push_back({std::move(call), std::move(nodes), cost});
    }
    schedule.steps = std::move(steps);
    schedule.same_as = std::move(fusion.same_as);
    return;
  }
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
  steps = std::move(ordered);
}

}  // namespace

std::vector<OperandRef> reads(const Graph& graph, const Schedule& schedule, const Step& step) {
  std::vector<OperandRef> operands;
  if (step.is_kernel()) {
    const KernelStep& run = step.kernel();
    const Kernel& kernel = schedule.kernels[run.kernel];
    for (std::size_t i = 0; i < run.operands.size(); ++i) {
      if (!kernel.operands[i].output) operands.push_back(run.operands[i].base);
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
  place_values(graph, target, schedule);
  return schedule;
}

}  // namespace lento

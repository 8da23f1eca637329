#include "compiler/schedule.h"

#include "base/format.h"
#include "compiler/build_kernel.h"
#include "compiler/memory_plan.h"
#include "ir/op.gen.h"
#include "ir/op.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <unordered_map>

namespace lento {

namespace {

/// Fuses until every group has a kernel: what has none is tried again with its reductions, or everything in it, alone.
std::vector<Step> make_steps(const Graph& graph, const KernelAbility& ability, FusionOptions options,
                             std::vector<Kernel>& kernels) {
  options.alone.resize(graph.nodes.size());
  while (true) {
    const Fusion fusion = fuse(graph, ability, options);
    kernels.clear();
    std::unordered_multimap<std::uint64_t, std::uint32_t> known;
    std::vector<Step> steps;
    bool all = true;
    for (const Group& group : fusion.groups) {
      if (group.nodes.empty()) continue;
      std::optional<BuiltKernel> built = build_kernel(graph, fusion, group);
      if (!built) {
        all = false;
        for (const std::uint32_t node : group.nodes) {
          if (group.reduced.count == 0 || info(graph.nodes[node].op).family == Family::reduction)
            options.alone[node] = 1;
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
      steps.push_back(std::move(built->step));
    }
    if (!all) continue;
    for (std::uint32_t node = 0; node < graph.nodes.size(); ++node) {
      if (fusion.roles[node] != NodeRole::call) continue;
      Step call;
      call.nodes.push_back(node);
      if (takes_views(graph.nodes[node].op)) {
        for (const OperandRef operand : graph.operands(graph.nodes[node])) {
          const bool is_view = operand.kind() == OperandRef::Kind::record &&
                               fusion.roles[operand.index()] == NodeRole::view && fusion.stored[operand.index()] == 0;
          call.views.push_back(is_view ? *fusion.views[operand.index()] : whole(operand, graph.meta_of(operand).shape));
        }
      }
      for (std::uint32_t further = 1; further < graph.result_count(node); ++further)
        call.nodes.push_back(node + further);
      call.cost = static_cast<double>(element_count(shape_of(graph.nodes[node].shape))) * 10;
      steps.push_back(std::move(call));
    }
    return steps;
  }
}

/// The stored nodes that a step reads.
std::vector<std::uint32_t> reads(const Graph& graph, const Step& step) {
  std::vector<std::uint32_t> nodes;
  const auto note = [&](OperandRef operand) {
    if (operand.kind() == OperandRef::Kind::record) nodes.push_back(operand.index());
  };
  if (step.is_kernel) {
    for (const StepOperand& operand : step.operands) {
      const bool own = operand.base.kind() == OperandRef::Kind::record &&
                       std::ranges::binary_search(step.nodes, operand.base.index());
      if (!own) note(operand.base);
    }
  } else if (!step.views.empty()) {
    for (const View& view : step.views) note(view.base);
  } else {
    for (const OperandRef operand : graph.operands(graph.nodes[step.nodes[0]])) note(operand);
  }
  return nodes;
}

/// An order in which every step comes after those it reads from, and otherwise as the trace had it: what was recorded
/// together is used together, and memory is free again early.
std::vector<Step> in_order(const Graph& graph, std::vector<Step> steps) {
  std::vector<std::uint32_t> step_of(graph.nodes.size(), ~0U);
  for (std::uint32_t s = 0; s < steps.size(); ++s) {
    for (const std::uint32_t node : steps[s].nodes) step_of[node] = s;
  }
  std::vector<std::vector<std::uint32_t>> followers(steps.size());
  std::vector<std::uint32_t> waits_for(steps.size(), 0);
  for (std::uint32_t s = 0; s < steps.size(); ++s) {
    for (const std::uint32_t node : reads(graph, steps[s])) {
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
  return ordered;
}

/// Which nodes a step puts into memory.
std::vector<std::uint32_t> writes(const Schedule& schedule, const Step& step) {
  if (!step.is_kernel) return step.nodes;
  std::vector<std::uint32_t> nodes;
  const Kernel& kernel = schedule.kernels[step.kernel];
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    if (kernel.operands[i].output) nodes.push_back(step.operands[i].base.index());
  }
  return nodes;
}

/// Many assignments into one tensor are a chain of updates, each of which is the only reader of the one before. They
/// share the memory of the last one: for each node, whose memory it uses (its own, mostly).
std::vector<std::uint32_t> update_homes(const Graph& graph, const Schedule& schedule) {
  std::vector<std::uint32_t> readers(graph.nodes.size(), 0);
  for (const Step& step : schedule.steps) {
    for (const std::uint32_t node : reads(graph, step)) ++readers[node];
  }
  for (const std::uint32_t output : graph.outputs) ++readers[output];
  std::vector<std::uint32_t> home(graph.nodes.size());
  std::iota(home.begin(), home.end(), 0U);
  for (auto step = schedule.steps.rbegin(); step != schedule.steps.rend(); ++step) {
    const std::uint32_t node = step->nodes[0];
    if (step->is_kernel || !updates_first_operand(graph.nodes[node].op)) continue;
    const OperandRef first = graph.operands(graph.nodes[node])[0];
    if (first.kind() == OperandRef::Kind::record && readers[first.index()] == 1) home[first.index()] = home[node];
  }
  return home;
}

void place_values(const Graph& graph, Schedule& schedule) {
  schedule.places.resize(graph.nodes.size());
  for (std::uint32_t k = 0; k < graph.outputs.size(); ++k) {
    const std::uint32_t node = graph.outputs[k];
    schedule.places[node] = {Place::Kind::output, k, 0, byte_size(graph.nodes[node])};
    schedule.output_bytes += byte_size(graph.nodes[node]);
  }
  const std::vector<std::uint32_t> home = update_homes(graph, schedule);
  for (std::uint32_t node = 0; node < graph.nodes.size(); ++node) {
    if (home[node] != node && schedule.places[home[node]].kind == Place::Kind::output) {
      schedule.places[node] = schedule.places[home[node]];
    }
  }
  std::vector<Lifetime> lifetimes;
  std::vector<std::uint32_t> nodes;  // of the lifetimes
  std::vector<std::uint32_t> lifetime_of(graph.nodes.size(), ~0U);
  for (std::uint32_t s = 0; s < schedule.steps.size(); ++s) {
    for (const std::uint32_t node : reads(graph, schedule.steps[s])) {
      if (lifetime_of[home[node]] != ~0U) lifetimes[lifetime_of[home[node]]].last = s;
    }
    for (const std::uint32_t node : writes(schedule, schedule.steps[s])) {
      if (schedule.places[node].kind == Place::Kind::output) continue;
      if (lifetime_of[home[node]] != ~0U) {
        lifetimes[lifetime_of[home[node]]].last = s;
        continue;
      }
      lifetime_of[home[node]] = static_cast<std::uint32_t>(lifetimes.size());
      lifetimes.push_back({byte_size(graph.nodes[node]), s, s});
      nodes.push_back(home[node]);
    }
  }
  const MemoryPlan plan = plan_memory(lifetimes);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    schedule.places[nodes[i]] = {Place::Kind::temporary, 0, plan.offsets[i], lifetimes[i].bytes};
  }
  for (std::uint32_t node = 0; node < graph.nodes.size(); ++node) {
    if (home[node] != node) schedule.places[node] = schedule.places[home[node]];
  }
  schedule.temporary_bytes = plan.bytes;
}

}  // namespace

Schedule make_schedule(const Graph& graph, const KernelAbility& ability, const FusionOptions& options) {
  Schedule schedule;
  schedule.steps = in_order(graph, make_steps(graph, ability, options, schedule.kernels));
  place_values(graph, schedule);
  return schedule;
}

std::string to_string(const Schedule& schedule, const Graph& graph) {
  std::string text =
      fmt::format("# {} steps, {} kernels, {} bytes of temporaries, {} of outputs\n", schedule.steps.size(),
                  schedule.kernels.size(), schedule.temporary_bytes, schedule.output_bytes);
  for (const Step& step : schedule.steps) {
    if (step.is_kernel) {
      text += fmt::format("run kernel {} over ({})", step.kernel, fmt::join(step.sizes, ", "));
    } else {
      text += fmt::format("call {}", info(graph.nodes[step.nodes[0]].op).name);
    }
    text += fmt::format(" for %{}\n", fmt::join(step.nodes, ", %"));
  }
  for (std::size_t i = 0; i < schedule.kernels.size(); ++i) {
    text += fmt::format("# kernel {}\n{}", i, to_string(schedule.kernels[i]));
  }
  return text;
}

}  // namespace lento

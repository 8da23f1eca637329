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
void make_steps(const Graph& graph, const KernelAbility& ability, FusionOptions options, Schedule& schedule) {
  options.alone.resize(graph.nodes.size());
  std::vector<Kernel>& kernels = schedule.kernels;
  while (true) {
    Fusion fusion = fuse(graph, ability, options);
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
          if (operand.kind() == OperandRef::Kind::scalar) {
            call.views.push_back({operand, {}, {}});
            continue;
          }
          const bool is_view = operand.kind() == OperandRef::Kind::record &&
                               fusion.roles[operand.index()] == NodeRole::view && fusion.stored[operand.index()] == 0;
          call.views.push_back(is_view ? *fusion.views[operand.index()] : whole(operand, graph.meta_of(operand).shape));
          call.views.back().base = fusion.home(call.views.back().base);
        }
      }
      for (std::uint32_t further = 1; further < graph.result_count(node); ++further)
        call.nodes.push_back(node + further);
      call.cost = static_cast<double>(element_count(shape_of(graph.nodes[node].shape))) * 10;
      steps.push_back(std::move(call));
    }
    schedule.steps = std::move(steps);
    schedule.same_as = std::move(fusion.same_as);
    return;
  }
}

/// The stored nodes among what a step reads.
std::vector<std::uint32_t> nodes_read(const Graph& graph, const Schedule& schedule, const Step& step) {
  std::vector<std::uint32_t> nodes;
  for (const OperandRef operand : reads(graph, schedule, step)) {
    if (operand.kind() == OperandRef::Kind::record) nodes.push_back(operand.index());
  }
  return nodes;
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

/// Which results may take the place of an operand, in a kernel that goes over each of its elements once after the last
/// reduction.
void find_in_place(const Graph& graph, Schedule& schedule) {
  for (Step& step : schedule.steps) {
    if (!step.is_kernel) continue;
    const Kernel& kernel = schedule.kernels[step.kernel];
    const std::vector<std::uint16_t> pass = passes(kernel);
    const std::uint16_t last = *std::ranges::max_element(pass);
    const std::size_t dims = kernel.dims;
    const auto strides = [&](std::size_t operand) { return std::span(step.strides).subspan(operand * dims, dims); };
    const auto readers = [&](OperandRef base) {
      return std::ranges::count_if(step.operands, [&](const StepOperand& other) { return other.base == base; });
    };
    for (std::size_t i = 0; i < kernel.body.size(); ++i) {
      if (kernel.body[i].kind != Instruction::Kind::store || pass[i] != last) continue;
      const std::uint16_t result = kernel.body[i].index;
      const std::size_t bytes = byte_size(graph.nodes[step.operands[result].base.index()]);
      for (std::uint16_t operand = 0; operand < step.operands.size(); ++operand) {
        const StepOperand& from = step.operands[operand];
        if (kernel.operands[operand].output || !from.starts.empty() || readers(from.base) != 1) continue;
        const Meta meta = graph.meta_of(from.base);
        if (byte_size(meta) != bytes || size_of(meta.dtype) != size_of(kernel.operands[result].dtype)) continue;
        if (std::ranges::equal(strides(operand), strides(result))) step.in_place.push_back({operand, result});
      }
    }
  }
}

/// Whose memory each node uses: its own, mostly. A value that only one step reads, which writes one like it to the same
/// elements, lies where the new one will lie; so do all of a chain of assignments into one tensor.
std::vector<std::uint32_t> shared_homes(const Graph& graph, const Schedule& schedule) {
  std::vector<std::uint32_t> readers(graph.nodes.size(), 0);
  for (const Step& step : schedule.steps) {
    for (const std::uint32_t node : nodes_read(graph, schedule, step)) ++readers[node];
  }
  for (const std::uint32_t output : graph.outputs) {
    const OperandRef stored = schedule.same_as[output];
    if (stored.kind() == OperandRef::Kind::record) ++readers[stored.index()];
  }
  std::vector<std::uint32_t> home(graph.nodes.size());
  std::iota(home.begin(), home.end(), 0U);
  std::vector<std::uint8_t> taken(graph.nodes.size(), 0);  // the node has the place of an operand
  const auto share = [&](OperandRef operand, std::uint32_t node) {
    if (operand.kind() != OperandRef::Kind::record || readers[operand.index()] != 1 || taken[node] != 0) return;
    if (home[operand.index()] != operand.index()) return;
    home[operand.index()] = home[node];
    taken[node] = 1;
  };
  for (auto step = schedule.steps.rbegin(); step != schedule.steps.rend(); ++step) {
    const std::uint32_t node = step->nodes[0];
    for (const InPlace& pair : step->in_place) {
      share(step->operands[pair.operand].base, step->operands[pair.result].base.index());
    }
    if (!step->is_kernel && updates_first_operand(graph.nodes[node].op)) {
      share(schedule.home(graph.operands(graph.nodes[node])[0]), node);
    }
  }
  return home;
}

void place_values(const Graph& graph, Schedule& schedule) {
  schedule.places.resize(graph.nodes.size());
  for (std::uint32_t k = 0; k < graph.outputs.size(); ++k) {
    const OperandRef stored = schedule.same_as[graph.outputs[k]];
    if (stored.kind() == OperandRef::Kind::leaf) continue;
    const std::uint32_t node = stored.index();
    if (schedule.places[node].kind == Place::Kind::output) continue;
    schedule.places[node] = {Place::Kind::output, k, 0, byte_size(graph.nodes[node])};
    schedule.output_bytes += byte_size(graph.nodes[node]);
  }
  const std::vector<std::uint32_t> home = shared_homes(graph, schedule);
  for (std::uint32_t node = 0; node < graph.nodes.size(); ++node) {
    if (home[node] != node && schedule.places[home[node]].kind == Place::Kind::output) {
      schedule.places[node] = schedule.places[home[node]];
    }
  }
  std::vector<Lifetime> lifetimes;
  std::vector<std::uint32_t> nodes;  // of the lifetimes
  std::vector<std::uint32_t> lifetime_of(graph.nodes.size(), ~0U);
  for (std::uint32_t s = 0; s < schedule.steps.size(); ++s) {
    for (const std::uint32_t node : nodes_read(graph, schedule, schedule.steps[s])) {
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

std::vector<OperandRef> reads(const Graph& graph, const Schedule& schedule, const Step& step) {
  std::vector<OperandRef> operands;
  if (step.is_kernel) {
    const Kernel& kernel = schedule.kernels[step.kernel];
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      if (!kernel.operands[i].output) operands.push_back(step.operands[i].base);
    }
  } else if (!step.views.empty()) {
    for (const View& view : step.views) {
      if (view.base.kind() != OperandRef::Kind::scalar) operands.push_back(view.base);
    }
  } else {
    for (const OperandRef operand : graph.operands(graph.nodes[step.nodes[0]])) {
      if (operand.kind() != OperandRef::Kind::scalar) operands.push_back(schedule.home(operand));
    }
  }
  return operands;
}

Schedule make_schedule(const Graph& graph, const KernelAbility& ability, const FusionOptions& options) {
  Schedule schedule;
  make_steps(graph, ability, options, schedule);
  put_in_order(graph, schedule);
  find_in_place(graph, schedule);
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

#include "compiler/place_values.h"

#include "compiler/memory_plan.h"
#include "ir/op.h"

#include <algorithm>
#include <numeric>

namespace lento {

namespace {

/// Which nodes a step puts into memory.
std::vector<std::uint32_t> writes(const Schedule& schedule, const Step& step) {
  if (step.is_call()) return step.nodes;
  std::vector<std::uint32_t> nodes;
  const KernelStep& run = step.kernel();
  const Kernel& kernel = schedule.kernels[run.kernel];
  for (std::size_t i = 0; i < run.operands.size(); ++i) {
    if (kernel.operands[i].output) nodes.push_back(run.operands[i].base.index());
  }
  return nodes;
}

/// True when the results of a kernel can all take the place of inputs, which a run may give away: then they should, as
/// an optimizer's weights and moments, rather than one of them lie where the gradient did.
bool inputs_have_room(const Schedule& schedule, const KernelStep& step) {
  std::vector<std::uint16_t> inputs, outputs;
  for (const InPlace& pair : step.in_place) {
    if (schedule.places[step.operands[pair.result].base.index()].kind != Place::Kind::output) continue;
    outputs.push_back(pair.result);
    if (step.operands[pair.operand].base.kind() == OperandRef::Kind::leaf) inputs.push_back(pair.operand);
  }
  const auto distinct = [](std::vector<std::uint16_t>& list) {
    std::ranges::sort(list);
    return std::ranges::unique(list).begin() - list.begin();
  };
  return distinct(inputs) >= distinct(outputs);
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
  // In a chain a result's place costs nothing, and a tile does.
  std::vector<std::uint8_t> in_chain(schedule.steps.size(), 0);
  for (const Chain& chain : schedule.chains)
    std::fill_n(in_chain.begin() + chain.first, chain.last - chain.first + 1, 1);
  for (auto step = schedule.steps.rbegin(); step != schedule.steps.rend(); ++step) {
    if (step->is_call()) {
      const std::uint32_t node = step->nodes[0];
      if (info(graph.nodes[node].op).updates_first_operand) {
        share(schedule.home(graph.operands(graph.nodes[node])[0]), node);
      }
      continue;
    }
    const KernelStep& run = step->kernel();
    const auto number = static_cast<std::size_t>(schedule.steps.rend() - step - 1);
    const bool has_room = in_chain[number] == 0 && inputs_have_room(schedule, run);
    for (const InPlace& pair : run.in_place) {
      const std::uint32_t result = run.operands[pair.result].base.index();
      if (has_room && schedule.places[result].kind == Place::Kind::output) continue;
      share(run.operands[pair.operand].base, result);
    }
  }
  return home;
}

/// The values that are no outputs, by home, and the steps in which each is in use.
struct Temporaries {
  std::vector<Lifetime> lifetimes;
  std::vector<std::uint32_t> nodes;  // one per lifetime
};

Temporaries find_lifetimes(const Graph& graph, const Schedule& schedule, const std::vector<std::uint32_t>& home) {
  Temporaries found;
  std::vector<std::uint32_t> lifetime_of(graph.nodes.size(), ~0U);
  for (std::uint32_t s = 0; s < schedule.steps.size(); ++s) {
    for (const std::uint32_t node : nodes_read(graph, schedule, schedule.steps[s])) {
      if (lifetime_of[home[node]] != ~0U) found.lifetimes[lifetime_of[home[node]]].last = s;
    }
    for (const std::uint32_t node : writes(schedule, schedule.steps[s])) {
      if (schedule.places[node].kind == Place::Kind::output) continue;
      if (lifetime_of[home[node]] != ~0U) {
        found.lifetimes[lifetime_of[home[node]]].last = s;
        continue;
      }
      lifetime_of[home[node]] = static_cast<std::uint32_t>(found.lifetimes.size());
      found.lifetimes.push_back({byte_size(graph.nodes[node]), s, s});
      found.nodes.push_back(home[node]);
    }
  }
  return found;
}

/// What lives inside one chain has room for a tile; everything else lies in the block, alive during the whole of a
/// chain or a batch that touches it, because the steps of a chain run interleaved, and those of a batch at once.
void place_temporaries(Schedule& schedule, const Temporaries& temporaries, std::size_t alignment) {
  std::vector<Turn> turn_of(schedule.steps.size());
  std::vector<std::uint32_t> chain_of(schedule.steps.size(), ~0U);
  std::uint32_t chains = 0;
  for (const Turn& turn : turns(schedule)) {
    std::fill(turn_of.begin() + turn.first, turn_of.begin() + turn.last + 1, turn);
    if (turn.kind != Turn::Kind::chain) continue;
    std::fill(chain_of.begin() + turn.first, chain_of.begin() + turn.last + 1, chains++);
  }
  std::vector<Temporaries> in_tiles(schedule.chains.size());
  Temporaries whole;
  for (std::size_t i = 0; i < temporaries.nodes.size(); ++i) {
    Lifetime lifetime = temporaries.lifetimes[i];
    const std::uint32_t chain = chain_of[lifetime.first];
    if (chain != ~0U && chain == chain_of[lifetime.last]) {
      const auto elements = static_cast<std::size_t>(schedule.steps[lifetime.first].kernel().sizes[0]);
      lifetime.bytes = lifetime.bytes / elements * static_cast<std::size_t>(schedule.chains[chain].tile);
      in_tiles[chain].lifetimes.push_back(lifetime);
      in_tiles[chain].nodes.push_back(temporaries.nodes[i]);
      continue;
    }
    lifetime.first = turn_of[lifetime.first].first;
    lifetime.last = turn_of[lifetime.last].last;
    whole.lifetimes.push_back(lifetime);
    whole.nodes.push_back(temporaries.nodes[i]);
  }
  const auto put = [&schedule, alignment](const Temporaries& values, Place::Kind kind) {
    const MemoryPlan plan = plan_memory(values.lifetimes, alignment);
    for (std::size_t i = 0; i < values.nodes.size(); ++i) {
      schedule.places[values.nodes[i]] = {kind, 0, plan.offsets[i], values.lifetimes[i].bytes};
    }
    return plan.bytes;
  };
  schedule.temporary_bytes = put(whole, Place::Kind::temporary);
  for (std::size_t c = 0; c < in_tiles.size(); ++c) {
    schedule.chains[c].scratch_bytes = put(in_tiles[c], Place::Kind::tile);
  }
}

}  // namespace

void find_in_place(const Graph& graph, Schedule& schedule) {
  for (Step& any : schedule.steps) {
    if (any.is_call()) continue;
    KernelStep& step = std::get<KernelStep>(any.work);
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
      for (std::size_t operand = 0; operand < step.operands.size(); ++operand) {
        const StepOperand& from = step.operands[operand];
        if (kernel.operands[operand].output || kernel.operands[operand].counted ||
            kernel.operands[operand].picked_by != kNotPicked || !from.starts.empty() || readers(from.base) != 1)
          continue;
        const Meta meta = graph.meta_of(from.base);
        if (byte_size(meta) != bytes || size_of(meta.dtype) != size_of(kernel.operands[result].dtype)) continue;
        if (std::ranges::equal(strides(operand), strides(result))) {
          step.in_place.push_back({static_cast<std::uint16_t>(operand), result});
        }
      }
    }
  }
}

void place_values(const Graph& graph, const Target& target, Schedule& schedule) {
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
  place_temporaries(schedule, find_lifetimes(graph, schedule, home), target.alignment);
  for (std::uint32_t node = 0; node < graph.nodes.size(); ++node) {
    if (home[node] != node) schedule.places[node] = schedule.places[home[node]];
  }
}

}  // namespace lento

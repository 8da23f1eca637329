#include "runtime/donors.h"

#include "ir/op.h"

#include <algorithm>
#include <unordered_map>

namespace lento {

namespace {

constexpr std::uint32_t kNever = ~0U;
constexpr std::size_t kMostDonors = 4;  // that a result may choose from

/// One per input: the last step that reads it.
std::vector<std::uint32_t> last_uses(const Graph& graph, const Schedule& schedule) {
  std::vector<std::uint32_t> last(graph.inputs.size(), 0);
  for (std::uint32_t s = 0; s < schedule.steps.size(); ++s) {
    for (const OperandRef operand : reads(graph, schedule, schedule.steps[s])) {
      if (operand.kind() == OperandRef::Kind::leaf) last[operand.index()] = s;
    }
  }
  for (const std::uint32_t output : graph.outputs) {
    const OperandRef stored = schedule.same_as[output];
    if (stored.kind() == OperandRef::Kind::leaf) last[stored.index()] = kNever;
  }
  return last;
}

/// True when every step of a chain that reads the value reads it element by element from the first on.
bool walked_alike(const Schedule& schedule, OperandRef value, std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t s = first; s <= last; ++s) {
    const KernelStep& step = schedule.steps[s].kernel();
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      if (step.operands[i].base == value && (step.strides[i] != 1 || !step.operands[i].starts.empty())) return false;
    }
  }
  return true;
}

/// True for a call that updates an input which only it reads, once, and nothing reads later.
bool updates_input(const Graph& graph, const Schedule& schedule, const std::vector<std::uint32_t>& last_use,
                   std::uint32_t number) {
  const Step& step = schedule.steps[number];
  const Record& record = graph.nodes[step.nodes[0]];
  if (step.is_kernel() || !info(record.op).updates_first_operand) return false;
  const OperandRef operand = schedule.home(graph.operands(record)[0]);
  if (operand.kind() != OperandRef::Kind::leaf || last_use[operand.index()] != number) return false;
  const std::vector<OperandRef> operands = reads(graph, schedule, step);
  return std::ranges::count(operands, operand) == 1;
}

}  // namespace

Donors::Donors(const Graph& graph, const Schedule& schedule) : donors_(schedule.steps.size()) {
  const std::vector<std::uint32_t> last_use = last_uses(graph, schedule);
  const auto add = [&](std::uint32_t step, std::uint32_t input, std::uint32_t node) {
    const Place& place = schedule.places[node];
    if (place.kind == Place::Kind::output) donors_[step].push_back({input, place.output, place.bytes});
  };
  // Inputs that nothing reads any more, by their size. The steps of a chain run interleaved: what one of them reads is
  // needed until the end of all, except for an input that all of them walk over as they walk over the result.
  std::unordered_map<std::size_t, std::vector<std::uint32_t>> dead;
  std::vector<std::vector<std::uint32_t>> dying(schedule.steps.size());
  for (std::uint32_t input = 0; input < graph.inputs.size(); ++input) {
    // A program without steps has inputs, too.
    if (last_use[input] < dying.size()) dying[last_use[input]].push_back(input);
  }
  auto chain = schedule.chains.begin();
  for (std::uint32_t first = 0, last = 0; first < schedule.steps.size(); first = last + 1) {
    last = chain != schedule.chains.end() && chain->first == first ? (chain++)->last : first;
    for (std::uint32_t s = first; s <= last; ++s) {
      const Step& step = schedule.steps[s];
      if (updates_input(graph, schedule, last_use, s)) {
        add(s, schedule.home(graph.operands(graph.nodes[step.nodes[0]])[0]).index(), step.nodes[0]);
      }
      if (step.is_call()) continue;
      const KernelStep& run = step.kernel();
      for (const InPlace& pair : run.in_place) {
        const OperandRef from = run.operands[pair.operand].base;
        if (from.kind() == OperandRef::Kind::leaf && last_use[from.index()] == s &&
            (first == last || walked_alike(schedule, from, first, last))) {
          add(s, from.index(), run.operands[pair.result].base.index());
        }
      }
      for (const std::uint32_t node : step.nodes) {
        if (schedule.places[node].kind != Place::Kind::output) continue;
        const std::vector<std::uint32_t>& inputs = dead[schedule.places[node].bytes];
        for (std::size_t i = 0; i < std::min(inputs.size(), kMostDonors); ++i) {
          add(s, inputs[inputs.size() - 1 - i], node);
        }
      }
    }
    for (std::uint32_t s = first; s <= last; ++s) {
      for (const std::uint32_t input : dying[s]) dead[byte_size(graph.inputs[input])].push_back(input);
    }
  }
}

std::size_t Donors::reused_bytes(const Schedule& schedule, std::span<const std::uint8_t> donated) const {
  std::vector<std::uint8_t> given(donated.begin(), donated.end());
  std::vector<std::uint8_t> there(schedule.places.size(), 0);  // by output: it has memory
  std::size_t total = 0;
  for (std::uint32_t s = 0; s < schedule.steps.size(); ++s) {
    hand_over(
        s, given, [&](std::uint32_t output) { return there[output] != 0; },
        [&](const Donor& donor) {
          there[donor.output] = 1;
          total += donor.bytes;
        });
    for (const std::uint32_t node : schedule.steps[s].nodes) {
      if (schedule.places[node].kind == Place::Kind::output) there[schedule.places[node].output] = 1;
    }
  }
  return total;
}

}  // namespace lento

#include "runtime/donors.h"

#include "ir/op.h"

#include <algorithm>
#include <unordered_map>

namespace lento {

namespace {

constexpr std::uint32_t kNever = ~0U;
constexpr std::size_t kMostDonors = 4;  // that a result may choose from

/// The last steps that read an input.
struct Uses {
  std::uint32_t last = 0;         // 0 also when none does
  std::uint32_t before = kNever;  // the last one before that
};

/// One per input.
std::vector<Uses> last_uses(const Graph& graph, const Schedule& schedule) {
  std::vector<Uses> uses(graph.inputs.size());
  std::vector<std::uint8_t> is_read(graph.inputs.size(), 0);
  for (std::uint32_t s = 0; s < schedule.steps.size(); ++s) {
    for (const OperandRef operand : reads(graph, schedule, schedule.steps[s])) {
      if (operand.kind() != OperandRef::Kind::leaf) continue;
      Uses& use = uses[operand.index()];
      if (is_read[operand.index()] != 0 && use.last != s) use.before = use.last;
      use.last = s;
      is_read[operand.index()] = 1;
    }
  }
  for (const std::uint32_t output : graph.outputs) {
    const OperandRef stored = schedule.same_as[output];
    if (stored.kind() == OperandRef::Kind::leaf) uses[stored.index()].last = kNever;
  }
  return uses;
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
bool updates_input(const Graph& graph, const Schedule& schedule, const std::vector<Uses>& uses, std::uint32_t number) {
  const Step& step = schedule.steps[number];
  const Record& record = graph.nodes[step.nodes[0]];
  if (step.is_kernel() || !info(record.op).updates_first_operand) return false;
  const OperandRef operand = schedule.home(graph.operands(record)[0]);
  if (operand.kind() != OperandRef::Kind::leaf || uses[operand.index()].last != number) return false;
  const std::vector<OperandRef> operands = reads(graph, schedule, step);
  return std::ranges::count(operands, operand) == 1;
}

}  // namespace

Donors::Donors(const Graph& graph, const Schedule& schedule) : donors_(schedule.steps.size()) {
  const std::vector<Uses> uses = last_uses(graph, schedule);
  const auto add = [&](std::uint32_t step, std::uint32_t input, std::uint32_t node) {
    const Place& place = schedule.places[node];
    if (place.kind == Place::Kind::output) donors_[step].push_back({input, place.output, place.bytes});
  };
  // Inputs that nothing reads any more, by their size. The steps of a chain run interleaved: what one of them reads is
  // needed until the end of all, except for an input that all of them walk over as they walk over the result. The steps
  // of a batch run at once: what several of them read is needed until the end.
  const auto is_free = [&](const Turn& turn, OperandRef input) {
    if (turn.kind == Turn::Kind::chain) return walked_alike(schedule, input, turn.first, turn.last);
    const std::uint32_t before = uses[input.index()].before;
    return before == kNever || before < turn.first;
  };
  std::unordered_map<std::size_t, std::vector<std::uint32_t>> dead;
  std::vector<std::vector<std::uint32_t>> dying(schedule.steps.size());
  for (std::uint32_t input = 0; input < graph.inputs.size(); ++input) {
    // A program without steps has inputs, too.
    if (uses[input].last < dying.size()) dying[uses[input].last].push_back(input);
  }
  for (const Turn& turn : turns(schedule)) {
    for (std::uint32_t s = turn.first; s <= turn.last; ++s) {
      const Step& step = schedule.steps[s];
      if (updates_input(graph, schedule, uses, s)) {
        add(s, schedule.home(graph.operands(graph.nodes[step.nodes[0]])[0]).index(), step.nodes[0]);
      }
      if (step.is_call()) continue;
      const KernelStep& run = step.kernel();
      for (const InPlace& pair : run.in_place) {
        const OperandRef from = run.operands[pair.operand].base;
        if (from.kind() == OperandRef::Kind::leaf && uses[from.index()].last == s && is_free(turn, from)) {
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
    for (std::uint32_t s = turn.first; s <= turn.last; ++s) {
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

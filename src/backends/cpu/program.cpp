#include "backends/cpu/program.h"

#include "backend/switches.h"
#include "backends/cpu/launch.h"
#include "backends/cpu/program_run.h"
#include "backends/cpu/threads.h"
#include "compiler/passes/simplify.h"

#include "ir/op.h"

#include <algorithm>
#include <unordered_map>

namespace lento::cpu {

namespace {

constexpr double kNanosecondsPerStep = 300;

constexpr std::size_t kMostDonors = 4;  // that a result may choose from

}  // namespace

CpuProgram::CpuProgram(Graph graph, std::uint8_t device, const FusionOptions& fusion)
    : graph_(std::move(graph)), device_(device) {
  if (fusion.fuse) simplified_ = to_string(simplify(graph_));
  schedule_ = make_schedule(graph_, kernel_ability(), fusion);
  code_ = find_kernels(schedule_.kernels, compiled_kernels_);
  step_of_.resize(graph_.nodes.size(), 0);
  for (std::uint32_t s = 0; s < schedule_.steps.size(); ++s) {
    for (const std::uint32_t node : schedule_.steps[s].nodes) step_of_[node] = s;
  }
  find_donors();
  make_library_steps();
  for (std::size_t s = 0; s < schedule_.steps.size(); ++s) {
    const Step& step = schedule_.steps[s];
    double nanoseconds = step.is_kernel ? step.cost * kNanosecondsPerInstruction : step.cost;
    if (library_[s] != nullptr) nanoseconds = library_[s]->nanoseconds();
    estimated_microseconds_ += (nanoseconds + kNanosecondsPerStep) / 1000;
  }
}

/// On all threads: a primitive of oneDNN takes up to a millisecond, since it generates code.
void CpuProgram::make_library_steps() {
  library_.resize(schedule_.steps.size());
  std::vector<std::uint32_t> calls;
  for (std::uint32_t s = 0; s < schedule_.steps.size(); ++s) {
    if (!schedule_.steps[s].is_kernel) calls.push_back(s);
  }
  const Switches* const under = switches();
  parallel_for(static_cast<std::int64_t>(calls.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    const CompileSwitches held(under);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint32_t s = calls[static_cast<std::size_t>(i)];
      library_[s] = make_library_step(graph_, schedule_.steps[s]);
    }
  });
}

/// Which inputs' memory the results of each kernel may take, if the inputs are given away.
void CpuProgram::find_donors() {
  constexpr std::uint32_t kNever = ~0U;
  last_use_of_input_.resize(graph_.inputs.size(), 0);
  for (std::uint32_t s = 0; s < schedule_.steps.size(); ++s) {
    for (const OperandRef operand : reads(graph_, schedule_, schedule_.steps[s])) {
      if (operand.kind() == OperandRef::Kind::leaf) last_use_of_input_[operand.index()] = s;
    }
  }
  for (const std::uint32_t output : graph_.outputs) {
    const OperandRef stored = schedule_.same_as[output];
    if (stored.kind() == OperandRef::Kind::leaf) last_use_of_input_[stored.index()] = kNever;
  }
  // Inputs that nothing reads any more, by their size. The steps of a chain run interleaved: what one of them reads is
  // needed until the end of all, except for an input that all of them walk over as they walk over the result.
  std::unordered_map<std::size_t, std::vector<std::uint32_t>> dead;
  std::vector<std::vector<std::uint32_t>> dying(schedule_.steps.size());
  for (std::uint32_t input = 0; input < graph_.inputs.size(); ++input) {
    // A program without steps has inputs, too.
    if (last_use_of_input_[input] < dying.size()) dying[last_use_of_input_[input]].push_back(input);
  }
  donors_.resize(schedule_.steps.size());
  auto chain = schedule_.chains.begin();
  for (std::uint32_t first = 0, last = 0; first < schedule_.steps.size(); first = last + 1) {
    last = chain != schedule_.chains.end() && chain->first == first ? (chain++)->last : first;
    for (std::uint32_t s = first; s <= last; ++s) {
      const Step& step = schedule_.steps[s];
      for (const InPlace& pair : step.in_place) {
        const OperandRef from = step.operands[pair.operand].base;
        if (from.kind() == OperandRef::Kind::leaf && last_use_of_input_[from.index()] == s &&
            (first == last || walked_alike(from, first, last))) {
          donors_[s].push_back({from.index(), step.operands[pair.result].base.index()});
        }
      }
      for (const std::uint32_t node : step.nodes) {
        if (!step.is_kernel || schedule_.places[node].kind != Place::Kind::output) continue;
        const std::vector<std::uint32_t>& inputs = dead[schedule_.places[node].bytes];
        for (std::size_t i = 0; i < std::min(inputs.size(), kMostDonors); ++i) {
          donors_[s].push_back({inputs[inputs.size() - 1 - i], node});
        }
      }
    }
    for (std::uint32_t s = first; s <= last; ++s) {
      for (const std::uint32_t input : dying[s]) dead[byte_size(graph_.inputs[input])].push_back(input);
    }
  }
}

/// True when every step of a chain that reads the value reads it element by element from the first on.
bool CpuProgram::walked_alike(OperandRef value, std::uint32_t first, std::uint32_t last) const {
  for (std::uint32_t s = first; s <= last; ++s) {
    const Step& step = schedule_.steps[s];
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      if (step.operands[i].base == value && (step.strides[i] != 1 || !step.operands[i].starts.empty())) return false;
    }
  }
  return true;
}

/// As a run gives inputs away (ProgramRun::take_donated, take_updated).
std::size_t CpuProgram::reused_bytes(std::span<const std::uint8_t> donated) const {
  std::vector<std::uint8_t> given(donated.begin(), donated.end());
  std::vector<std::uint8_t> there(graph_.outputs.size(), 0);  // the output has memory
  std::size_t total = 0;
  const auto give = [&](std::uint32_t input, std::uint32_t node) {
    const Place& place = schedule_.places[node];
    if (place.kind != Place::Kind::output || given[input] == 0 || there[place.output] != 0) return;
    given[input] = 0;
    there[place.output] = 1;
    total += place.bytes;
  };
  for (std::uint32_t s = 0; s < schedule_.steps.size(); ++s) {
    for (const Donor& donor : donors_[s]) give(donor.input, donor.node);
    if (const std::optional<std::uint32_t> input = updated_input(s)) give(*input, schedule_.steps[s].nodes[0]);
    for (const std::uint32_t node : schedule_.steps[s].nodes) {
      if (schedule_.places[node].kind == Place::Kind::output) there[schedule_.places[node].output] = 1;
    }
  }
  return total;
}

std::optional<std::uint32_t> CpuProgram::updated_input(std::uint32_t number) const {
  const Step& step = schedule_.steps[number];
  const Record& record = graph_.nodes[step.nodes[0]];
  if (step.is_kernel || !updates_first_operand(record.op)) return std::nullopt;
  const OperandRef operand = schedule_.home(graph_.operands(record)[0]);
  if (operand.kind() != OperandRef::Kind::leaf || last_use_of_input_[operand.index()] != number) return std::nullopt;
  const std::vector<OperandRef> operands = reads(graph_, schedule_, step);
  if (std::ranges::count(operands, operand) > 1) return std::nullopt;
  return operand.index();
}

std::size_t CpuProgram::bytes() const {
  std::size_t total = graph_.nodes.size() * (sizeof(Record) + sizeof(Source) + sizeof(Place));
  for (const Step& step : schedule_.steps) total += sizeof(Step) + step.strides.size() * 16 + step.nodes.size() * 4;
  for (const KernelRef& code : code_) total += sizeof(CachedKernel) + code->code_bytes();
  for (const auto& step : library_) total += step == nullptr ? 0 : step->bytes();
  return total;
}

std::size_t CpuProgram::code_bytes() const {
  std::size_t total = 0;
  for (const KernelRef& code : code_) total += code->code_bytes();
  return total;
}

void CpuProgram::improve() {
  for (const KernelRef& code : code_) code->improve();
}

std::string CpuProgram::text() const { return simplified_ + to_string(schedule_, graph_); }

void CpuProgram::run(const RunArguments& arguments) { ProgramRun(*this, arguments).run(); }

}  // namespace lento::cpu

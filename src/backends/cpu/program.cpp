#include "backends/cpu/program.h"

#include "backends/cpu/arena.h"
#include "backends/cpu/launch.h"
#include "backends/cpu/node_runner.h"
#include "backends/cpu/threads.h"
#include "base/counters.h"
#include "base/fail.h"
#include "ir/op.gen.h"
#include "ir/op.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <unordered_map>

namespace lento::cpu {

namespace {

constexpr double kNanosecondsPerStep = 300;

const CounterId kDonation = counter_id("donation");

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  constexpr std::int64_t kPart = 1 << 18;
  const auto total = static_cast<std::int64_t>(bytes);
  parallel_for((total + kPart - 1) / kPart, 4, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(static_cast<std::byte*>(to) + begin * kPart, static_cast<const std::byte*>(from) + begin * kPart,
                static_cast<std::size_t>(std::min(total, end * kPart) - begin * kPart));
  });
}

constexpr std::size_t kMostDonors = 4;  // that a result may choose from

}  // namespace

CpuProgram::CpuProgram(Graph graph, std::uint8_t device, const FusionOptions& fusion)
    : graph_(std::move(graph)), device_(device) {
  schedule_ = make_schedule(graph_, kernel_ability(), fusion);
  code_ = find_kernels(schedule_.kernels, compiled_kernels_);
  find_donors();
  for (const Step& step : schedule_.steps) {
    library_.push_back(step.is_kernel ? nullptr : make_library_step(graph_, step));
    double nanoseconds = step.is_kernel ? step.cost * kNanosecondsPerInstruction : step.cost;
    if (library_.back() != nullptr) nanoseconds = library_.back()->nanoseconds();
    estimated_microseconds_ += (nanoseconds + kNanosecondsPerStep) / 1000;
  }
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
  // Inputs that nothing reads any more, by their size.
  std::unordered_map<std::size_t, std::vector<std::uint32_t>> dead;
  std::vector<std::vector<std::uint32_t>> dying(schedule_.steps.size());
  for (std::uint32_t input = 0; input < graph_.inputs.size(); ++input) {
    if (last_use_of_input_[input] != kNever) dying[last_use_of_input_[input]].push_back(input);
  }
  donors_.resize(schedule_.steps.size());
  for (std::uint32_t s = 0; s < schedule_.steps.size(); ++s) {
    const Step& step = schedule_.steps[s];
    for (const InPlace& pair : step.in_place) {
      const OperandRef from = step.operands[pair.operand].base;
      if (from.kind() == OperandRef::Kind::leaf && last_use_of_input_[from.index()] == s)
        donors_[s].push_back({from.index(), step.operands[pair.result].base.index()});
    }
    for (const std::uint32_t node : step.nodes) {
      if (!step.is_kernel || schedule_.places[node].kind != Place::Kind::output) continue;
      const std::vector<std::uint32_t>& inputs = dead[schedule_.places[node].bytes];
      for (std::size_t i = 0; i < std::min(inputs.size(), kMostDonors); ++i)
        donors_[s].push_back({inputs[inputs.size() - 1 - i], node});
    }
    for (const std::uint32_t input : dying[s]) dead[byte_size(graph_.inputs[input])].push_back(input);
  }
}

std::size_t CpuProgram::bytes() const {
  std::size_t total = graph_.nodes.size() * (sizeof(Record) + sizeof(Source) + sizeof(Place));
  for (const Step& step : schedule_.steps) total += sizeof(Step) + step.strides.size() * 16 + step.nodes.size() * 4;
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

std::string CpuProgram::text() const { return to_string(schedule_, graph_); }

/// One run: where every value lies, and which of them failed.
class CpuProgram::Run {
 public:
  Run(const CpuProgram& program, const RunArguments& arguments)
      : program_(program),
        graph_(program.graph_),
        schedule_(program.schedule_),
        arguments_(arguments),
        values_(program.graph_.nodes.size()),
        output_buffers_(program.graph_.outputs.size()),
        given_(arguments.donated.begin(), arguments.donated.end()) {
    if (schedule_.temporary_bytes != 0) block_ = allocate_cpu(schedule_.temporary_bytes, program.device_);
  }

  void run() {
    for (std::uint32_t s = 0; s < schedule_.steps.size(); ++s) {
      const Step& step = schedule_.steps[s];
      if (step.is_kernel) {
        run_kernel(s, step);
      } else {
        if (program_.library_[s] != nullptr && run_library(s, step)) continue;
        take_updated(s, step);
        run_alone(step);
      }
    }
    for (std::size_t k = 0; k < graph_.outputs.size(); ++k) {
      const OperandRef stored = schedule_.same_as[graph_.outputs[k]];
      Value& output = *arguments_.outputs[k];
      if (stored.kind() == OperandRef::Kind::leaf) {
        const Value& input = *arguments_.inputs[stored.index()];
        output.failure = input.failure;
        if (!input.failure) output.buffer = input.buffer;
        continue;
      }
      const NodeValue& value = values_[stored.index()];
      output.failure = value.failure;
      if (!value.failure) output.buffer = value.buffer;
    }
  }

 private:
  bool failed(OperandRef operand) const {
    operand = schedule_.home(operand);
    if (operand.kind() == OperandRef::Kind::leaf) return static_cast<bool>(arguments_.inputs[operand.index()]->failure);
    return operand.kind() == OperandRef::Kind::record && values_[operand.index()].failure;
  }

  std::byte* address(OperandRef operand) const {
    operand = schedule_.home(operand);
    if (operand.kind() == OperandRef::Kind::leaf) {
      return static_cast<std::byte*>(arguments_.inputs[operand.index()]->buffer->data());
    }
    return static_cast<std::byte*>(values_[operand.index()].data);
  }

  void poison(const Step& step, const Error& error) {
    for (const std::uint32_t node : step.nodes) {
      values_[node] = {nullptr, {}, Failure::make(error.kind(), error.what(), arguments_.sources[node])};
    }
  }

  /// Gives a node that is about to be computed its memory.
  void place(std::uint32_t node) {
    const Place& place = schedule_.places[node];
    NodeValue& value = values_[node];
    value.failure.reset();
    if (place.kind == Place::Kind::output) {
      BufferRef& buffer = output_buffers_[place.output];
      if (!buffer) buffer = allocate_cpu(place.bytes, program_.device_);
      value.buffer = buffer;
      value.data = buffer->data();
    } else {
      value.data = temporary(place);
    }
  }

  /// Where a temporary lies. Without a block there are only empty ones, but an address that is not null means
  /// "computed".
  std::byte* temporary(const Place& place) const {
    static std::byte empty[64];
    return block_ ? static_cast<std::byte*>(block_->data()) + place.offset : empty;
  }

  /// How far the starts move a view, in elements; nothing when a position lies outside.
  std::optional<std::int64_t> offset(const std::vector<DynamicStart>& starts) const {
    std::int64_t total = 0;
    for (const DynamicStart& start : starts) {
      const std::int64_t first = arguments_.scalars[start.number].value.to<std::int64_t>();
      const std::int64_t last = first + (start.size - 1) * start.step;
      if (start.size > 0 && (std::min(first, last) < 0 || std::max(first, last) >= start.extent)) return std::nullopt;
      total += first * start.stride;
    }
    return total;
  }

  void run_kernel(std::uint32_t number, const Step& step) {
    const Kernel& kernel = schedule_.kernels[step.kernel];
    addresses_.resize(step.operands.size());
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      const StepOperand& operand = step.operands[i];
      if (kernel.operands[i].output) continue;
      const std::optional<std::int64_t> moved = failed(operand.base) ? std::nullopt : offset(operand.starts);
      if (!moved) {
        // Only what depends on the failure may be poisoned: each node for itself finds out.
        run_alone(step);
        return;
      }
      addresses_[i] = address(operand.base) + *moved * static_cast<std::int64_t>(size_of(kernel.operands[i].dtype));
    }
    take_donated(program_.donors_[number]);
    try {
      for (std::size_t i = 0; i < step.operands.size(); ++i) {
        if (!kernel.operands[i].output) continue;
        place(step.operands[i].base.index());
        addresses_[i] = values_[step.operands[i].base.index()].data;
      }
    } catch (const Error& error) {
      poison(step, error);
      return;
    }
    numbers_.resize(step.numbers.size() * 16);
    for (std::size_t i = 0; i < step.numbers.size(); ++i) {
      arguments_.scalars[step.numbers[i]].value.write(kernel.numbers[i], numbers_.data() + i * 16);
    }
    const KernelArguments arguments{step.sizes.data(), addresses_.data(), step.strides.data(), numbers_.data()};
    launch(kernel, *program_.code_[step.kernel], arguments, step.sizes, step.cost);
  }

  /// False when something it reads has failed; then the reference kernel's way finds out what.
  bool run_library(std::uint32_t number, const Step& step) {
    const std::uint32_t node = step.nodes[0];
    const Record& record = graph_.nodes[node];
    const std::span<const OperandRef> operands = graph_.operands(record);
    addresses_.assign(operands.size(), nullptr);
    call_numbers_.assign(operands.size(), nullptr);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].kind() == OperandRef::Kind::scalar) {
        call_numbers_[i] = &arguments_.scalars[operands[i].index()];
        continue;
      }
      const OperandRef base = step.views.empty() ? operands[i] : step.views[i].base;
      if (failed(base)) return false;
      addresses_[i] = address(base);
      if (step.views.empty()) continue;
      const std::optional<std::int64_t> moved = offset(step.views[i].starts);
      if (!moved) return false;
      addresses_[i] = address(base) + *moved * static_cast<std::int64_t>(size_of(graph_.meta_of(operands[i]).dtype));
    }
    take_updated(number, step);
    try {
      results_.assign(info(record.op).result_count, nullptr);
      for (const std::uint32_t result : step.nodes) {
        place(result);
        results_[result == node ? 0 : graph_.nodes[result].result_index] = values_[result].data;
      }
      if (updates_first_operand(record.op) && results_[0] != addresses_[0]) {
        copy_bytes(results_[0], addresses_[0], byte_size(record));
      }
      program_.library_[number]->run({addresses_, call_numbers_, results_});
    } catch (const Error& error) {
      poison(step, error);
    }
    return true;
  }

  /// Results of a kernel take the memory of inputs that nobody needs any more.
  void take_donated(const std::vector<Donor>& donors) {
    for (const Donor& donor : donors) {
      const Place& place = schedule_.places[donor.node];
      if (place.kind != Place::Kind::output || given_[donor.input] == 0 || output_buffers_[place.output]) continue;
      give(donor.input, place);
    }
  }

  void give(std::uint32_t input, const Place& place) {
    given_[input] = 0;
    output_buffers_[place.output] = arguments_.inputs[input]->buffer;
    count(kDonation);
  }

  /// An update of an input that nobody else needs happens in that input's memory.
  void take_updated(std::uint32_t number, const Step& step) {
    const Record& record = graph_.nodes[step.nodes[0]];
    if (!updates_first_operand(record.op)) return;
    const OperandRef operand = schedule_.home(graph_.operands(record)[0]);
    if (operand.kind() == OperandRef::Kind::record) {
      if (address(operand) == expected_address(step.nodes[0])) count(kDonation);
      return;
    }
    const Place& place = schedule_.places[step.nodes[0]];
    const std::uint32_t input = operand.index();
    const std::vector<OperandRef> operands = reads(graph_, schedule_, step);
    const bool read_twice = std::ranges::count(operands, operand) > 1;
    if (place.kind != Place::Kind::output || given_[input] == 0 || read_twice ||
        program_.last_use_of_input_[input] != number || output_buffers_[place.output]) {
      return;
    }
    give(input, place);
  }

  const std::byte* expected_address(std::uint32_t node) const {
    const Place& place = schedule_.places[node];
    if (place.kind == Place::Kind::temporary) return temporary(place);
    return output_buffers_[place.output] ? static_cast<const std::byte*>(output_buffers_[place.output]->data())
                                         : nullptr;
  }

  /// Runs the nodes of a step one by one: a call, or a kernel that something it reads has failed for.
  void run_alone(const Step& step) {
    try {
      if (step.is_kernel) keep_overwritten(step);
    } catch (const Error& error) {
      poison(step, error);
      return;
    }
    NodeRunner runner(graph_, schedule_, arguments_, values_, program_.device_);
    for (const std::uint32_t node : step.nodes) {
      if (graph_.nodes[node].op == Op::result) continue;
      runner.run_placed(node, [this](std::uint32_t stored) { place(stored); });
    }
  }

  /// A kernel may write a result where an operand lies; node by node that would be too early, so the operand moves.
  void keep_overwritten(const Step& step) {
    for (const InPlace& pair : step.in_place) {
      const OperandRef from = step.operands[pair.operand].base;
      const std::uint32_t result = step.operands[pair.result].base.index();
      if (from.kind() != OperandRef::Kind::record || failed(from) || address(from) != expected_address(result))
        continue;
      NodeValue& value = values_[from.index()];
      const std::size_t bytes = byte_size(graph_.nodes[from.index()]);
      BufferRef copy = allocate_cpu(bytes, program_.device_);
      std::memcpy(copy->data(), value.data, bytes);
      value.data = copy->data();
      value.buffer = std::move(copy);
    }
  }

  const CpuProgram& program_;
  const Graph& graph_;
  const Schedule& schedule_;
  const RunArguments& arguments_;
  std::vector<NodeValue> values_;
  std::vector<BufferRef> output_buffers_;
  std::vector<std::uint8_t> given_;  // inputs whose memory may still be taken
  BufferRef block_;
  std::vector<void*> addresses_;
  std::vector<std::byte> numbers_;
  std::vector<const ScalarArgument*> call_numbers_;
  std::vector<void*> results_;
};

void CpuProgram::run(const RunArguments& arguments) { Run(*this, arguments).run(); }

}  // namespace lento::cpu

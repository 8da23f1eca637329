#include "runtime/program_run.h"

#include "base/counters.h"
#include "base/fail.h"
#include "ir/op.h"
#include "ir/op_number.h"

#include <algorithm>
#include <bit>
#include <new>
#include <span>

namespace lento {

namespace {

const CounterId kDonation = counter_id("donation");
const CounterId kLaunch = counter_id("kernel.launch");
const CounterId kOnDevice = counter_id("launch.device");

constexpr std::size_t kNumberBytes = 16;  // KernelArguments::numbers
constexpr const char* kOutOfMemory = "out of memory";

/// Whether all positions are in -extent … extent - 1.
template <class Position>
bool all_within(const Position* positions, std::int64_t count, std::int64_t extent) {
  bool within = true;
  for (std::int64_t i = 0; i < count; ++i) within &= positions[i] >= -extent && positions[i] < extent;
  return within;
}

}  // namespace

ProgramRun::ProgramRun(const CompiledProgram& program, const RunArguments& arguments, StatusWords* status)
    : program_(program),
      driver_(program.driver_),
      graph_(program.graph_),
      schedule_(program.schedule_),
      arguments_(arguments),
      queues_(program.queues_),
      status_(status),
      values_(program.graph_.nodes.size()),
      output_buffers_(program.graph_.outputs.size()),
      given_(arguments.donated.begin(), arguments.donated.end()) {
  if (schedule_.temporary_bytes != 0) block_ = driver_.allocate(schedule_.temporary_bytes);
}

void ProgramRun::run() {
  auto region = program_.regions_.begin();
  auto turn = program_.turns_.begin();
  while (turn != program_.turns_.end()) {
    const std::uint32_t s = turn->first;
    const Step& step = schedule_.steps[s];
    std::uint32_t last = turn->last;
    if (turn->kind == Turn::Kind::batch) {
      run_batch(*turn);
    } else if (step.is_kernel()) {
      run_kernels(s, last);
    } else if (region != program_.regions_.end() && region->first == s) {
      last = region->last;
      end_submission();
      run_fallback(*region++);
    } else if (program_.prepared_.calls[s] == nullptr || !run_call(s, step)) {
      run_call_alone(s);
    }
    // A region goes over several turns.
    while (turn != program_.turns_.end() && turn->last <= last) ++turn;
  }
  if (status_ != nullptr) {
    begin_submission();
    status_->collect();
  }
  end_submission();
  hand_out();
}

void ProgramRun::begin_submission() {
  if (queues_ != nullptr && !submission_) submission_.emplace(driver_);
}

void ProgramRun::end_submission() {
  if (!submission_) return;
  submission_->end();
  submission_.reset();
}

StatusWord* ProgramRun::status_of(std::uint32_t step) const {
  return status_ == nullptr ? nullptr : program_.late_failures_.of_step(step, status_->address());
}

void ProgramRun::hand_out() const {
  for (std::size_t k = 0; k < graph_.outputs.size(); ++k) {
    const OperandRef stored = schedule_.same_as[graph_.outputs[k]];
    const bool is_input = stored.kind() == OperandRef::Kind::leaf;
    const FailureRef& failure =
        is_input ? why_failed(*arguments_.inputs[stored.index()], queues_) : values_[stored.index()].failure;
    Value& output = *arguments_.outputs[k];
    if (!failure) output.buffer = is_input ? arguments_.inputs[stored.index()]->buffer : values_[stored.index()].buffer;
    if (queues_ == nullptr) output.failure = failure;
  }
}

void ProgramRun::forget_donated() {
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (arguments_.donated[i] != 0 && given_[i] == 0) arguments_.inputs[i]->buffer.reset();
  }
}

NodeFailures ProgramRun::known_failures() const {
  NodeFailures known;
  for (std::uint32_t node = 0; node < values_.size(); ++node) {
    const FailureRef& failure = values_[node].failure;
    if (failure && failure != unknown_failure()) known.emplace_back(node, failure);
  }
  return known;
}

// --- values ---

FailureRef ProgramRun::failure_of(OperandRef operand) const {
  operand = schedule_.home(operand);
  if (operand.kind() == OperandRef::Kind::leaf) return why_failed(*arguments_.inputs[operand.index()], queues_);
  return operand.kind() == OperandRef::Kind::record ? values_[operand.index()].failure : FailureRef{};
}

bool ProgramRun::failed(OperandRef operand) const {
  operand = schedule_.home(operand);
  if (operand.kind() == OperandRef::Kind::leaf)
    return static_cast<bool>(why_failed(*arguments_.inputs[operand.index()], queues_));
  return operand.kind() == OperandRef::Kind::record && values_[operand.index()].failure;
}

std::byte* ProgramRun::address(OperandRef operand) const {
  operand = schedule_.home(operand);
  if (operand.kind() == OperandRef::Kind::leaf) {
    return static_cast<std::byte*>(arguments_.inputs[operand.index()]->buffer->data());
  }
  return static_cast<std::byte*>(values_[operand.index()].data);
}

std::byte* ProgramRun::stand_in(OperandRef operand) {
  operand = schedule_.home(operand);
  const bool is_input = operand.kind() == OperandRef::Kind::leaf;
  const std::size_t bytes =
      is_input ? byte_size(graph_.inputs[operand.index()]) : byte_size(graph_.nodes[operand.index()]);
  if (stand_ins_.empty() || stand_ins_.back()->size() < bytes) stand_ins_.push_back(driver_.allocate(bytes));
  return static_cast<std::byte*>(stand_ins_.back()->data());
}

void ProgramRun::place(std::uint32_t node) {
  const Place& place = schedule_.places[node];
  NodeValue& value = values_[node];
  value.failure.reset();
  if (place.kind == Place::Kind::output) {
    BufferRef& buffer = output_buffers_[place.output];
    if (!buffer) buffer = driver_.allocate(place.bytes);
    value.buffer = buffer;
    value.data = buffer->data();
  } else {
    // An empty value has an address too, one of the device's.
    if (queues_ != nullptr && !block_) block_ = driver_.allocate(0);
    value.data = temporary(place);
  }
}

std::byte* ProgramRun::temporary(const Place& place) const {
  // Without a block there are only empty ones, but an address that is not null means "computed".
  static std::byte empty[64];
  return block_ ? static_cast<std::byte*>(block_->data()) + place.offset : empty;
}

const std::byte* ProgramRun::expected_address(std::uint32_t node) const {
  const Place& place = schedule_.places[node];
  if (place.kind == Place::Kind::temporary) return temporary(place);
  if (place.kind == Place::Kind::tile || !output_buffers_[place.output]) return nullptr;
  return static_cast<const std::byte*>(output_buffers_[place.output]->data());
}

void ProgramRun::poison(std::uint32_t first, std::uint32_t last, ErrorKind kind, const char* message) {
  for (std::uint32_t s = first; s <= last; ++s) {
    for (const std::uint32_t node : schedule_.steps[s].nodes) {
      values_[node] = {nullptr, {}, Failure::make(kind, message, arguments_.sources[graph_.origin(node)])};
    }
  }
}

template <class Function>
bool ProgramRun::or_poison(std::uint32_t first, std::uint32_t last, Function run_steps) {
  try {
    run_steps();
    return true;
  } catch (const Error& error) {
    poison(first, last, error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    poison(first, last, ErrorKind::memory, kOutOfMemory);
  }
  return false;
}

std::optional<std::int64_t> ProgramRun::offset(const std::vector<DynamicStart>& starts) const {
  std::int64_t total = 0;
  for (const DynamicStart& start : starts) {
    if (start.reach.empty()) continue;
    const std::int64_t first = arguments_.scalars[start.number].value.to<std::int64_t>();
    if (!start.reach.fits(first, start.extent)) return std::nullopt;
    total += first * start.stride;
  }
  return total;
}

// --- steps ---

void ProgramRun::run_kernels(std::uint32_t first, std::uint32_t last) {
  bool found = true;
  or_poison(first, last, [&] {
    found = find_operands(first, last);
    if (!found) return;
    begin_submission();
    bind(first, last);
    launch(first);
  });
  // Only what depends on the failure may be poisoned: each node for itself finds out.
  if (!found) run_alone(first, last);
}

void ProgramRun::run_batch(const Turn& batch) {
  if (!bind_batch(batch)) {
    // What stands in the way of one kernel is nothing to the others.
    for (std::uint32_t s = batch.first; s <= batch.last; ++s) run_kernels(s, s);
    return;
  }
  or_poison(batch.first, batch.last, [&] {
    count_launch();
    driver_.launch_batch(kernels_.launches);
  });
}

bool ProgramRun::bind_batch(const Turn& batch) {
  if (!find_operands(batch.first, batch.last)) return false;
  try {
    begin_submission();
    bind(batch.first, batch.last);
  } catch (const Error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

void ProgramRun::count_launch() const {
  count(kLaunch);
  if (queues_ != nullptr) count(kOnDevice);
}

void ProgramRun::launch(std::uint32_t first) {
  count_launch();
  if (kernels_.launches.size() == 1) {
    driver_.launch(kernels_.launches.front());
  } else {
    driver_.launch_chain(kernels_.launches, kernels_.tile_operands,
                         *std::ranges::find(schedule_.chains, first, &Chain::first));
  }
}

bool ProgramRun::find_operands(std::uint32_t first, std::uint32_t last) {
  kernels_.addresses.clear();
  for (std::uint32_t s = first; s <= last; ++s) {
    const KernelStep& step = schedule_.steps[s].kernel();
    const Kernel& kernel = schedule_.kernels[step.kernel];
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      const StepOperand& operand = step.operands[i];
      kernels_.addresses.push_back(nullptr);
      if (kernel.operands[i].counted) {
        const std::optional<std::int64_t> first = offset(operand.starts);
        if (!first) return false;
        kernels_.addresses.back() = std::bit_cast<void*>(*first);
        continue;
      }
      // What the chain itself makes is there when it is needed.
      const bool made_here =
          kernel.operands[i].output || (s != first && operand.base.kind() == OperandRef::Kind::record &&
                                        program_.step_of_[operand.base.index()] >= first);
      if (made_here) continue;
      const bool is_failed = failed(operand.base);
      if (is_failed && queues_ == nullptr) return false;
      const std::optional<std::int64_t> moved = offset(operand.starts);
      if (!moved) return false;
      std::byte* const base = is_failed ? stand_in(operand.base) : address(operand.base);
      kernels_.addresses.back() = base + *moved * static_cast<std::int64_t>(size_of(kernel.operands[i].dtype));
    }
    if (!step.picked.empty() && queues_ == nullptr && !positions_fit(step)) return false;
  }
  return true;
}

bool ProgramRun::positions_fit(const KernelStep& step) const {
  const Kernel& kernel = schedule_.kernels[step.kernel];
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    if (kernel.operands[i].picked_by == kNotPicked) continue;
    const OperandRef positions = step.operands[kernel.operands[i].picked_by].base;
    const Meta meta = graph_.meta_of(positions);
    const std::int64_t count = element_count(meta.shape);
    const std::int64_t extent = step.picked[i].extent;
    const void* data = address(positions);
    const bool fit = meta.dtype == DType::int64 ? all_within(static_cast<const std::int64_t*>(data), count, extent)
                                                : all_within(static_cast<const std::int32_t*>(data), count, extent);
    if (!fit) return false;
  }
  return true;
}

void ProgramRun::bind(std::uint32_t first, std::uint32_t last) {
  kernels_.launches.clear();
  kernels_.tile_operands.clear();
  kernels_.numbers.clear();
  std::size_t total = 0;
  for (std::uint32_t s = first; s <= last; ++s) total += schedule_.steps[s].kernel().numbers.size();
  kernels_.numbers.resize(total * kNumberBytes);
  std::byte* number = kernels_.numbers.data();
  void** addresses = kernels_.addresses.data();
  for (std::uint32_t s = first; s <= last; ++s) {
    const Step& step = schedule_.steps[s];
    const KernelStep& kernel_step = step.kernel();
    const Kernel& kernel = schedule_.kernels[kernel_step.kernel];
    const std::byte* const numbers = number;
    // Step by step: values of earlier steps of a chain may already lie where this one's result will.
    take_donated(s);
    for (std::size_t i = 0; i < kernel_step.numbers.size(); ++i, number += kNumberBytes) {
      arguments_.scalars[kernel_step.numbers[i]].value.write(kernel.numbers[i], number);
    }
    const std::size_t first_tile = kernels_.tile_operands.size();
    for (std::size_t i = 0; i < kernel_step.operands.size(); ++i) {
      const OperandRef base = kernel_step.operands[i].base;
      if (addresses[i] != nullptr || kernel.operands[i].counted) continue;
      if (base.kind() == OperandRef::Kind::record && schedule_.places[base.index()].kind == Place::Kind::tile) {
        kernels_.tile_operands.push_back(
            {static_cast<std::uint32_t>(i), schedule_.places[base.index()].offset, size_of(kernel.operands[i].dtype)});
        continue;
      }
      if (kernel.operands[i].output) place(base.index());
      addresses[i] = address(base);
    }
    kernels_.launches.push_back({.binary = program_.prepared_.kernels[kernel_step.kernel].get(),
                                 .kernel = &kernel,
                                 .arguments = {kernel_step.sizes.data(), addresses, kernel_step.strides.data(), numbers,
                                               kernel_step.picked.empty() ? nullptr : kernel_step.picked.data()},
                                 .sizes = kernel_step.sizes,
                                 .cost = step.cost,
                                 .tile_count = kernels_.tile_operands.size() - first_tile,
                                 .status = status_of(s)});
    addresses += kernel_step.operands.size();
  }
}

bool ProgramRun::run_call(std::uint32_t number, const Step& step) {
  const std::vector<View>& views = step.call().views;
  const std::uint32_t node = step.nodes[0];
  const Record& record = graph_.nodes[node];
  const std::span<const OperandRef> operands = graph_.operands(record);
  call_.operands.assign(operands.size(), nullptr);
  call_.numbers.assign(operands.size(), nullptr);
  call_.inputs.assign(operands.size(), 0);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].kind() == OperandRef::Kind::scalar) {
      call_.numbers[i] = &arguments_.scalars[operands[i].index()];
      continue;
    }
    const OperandRef base = views.empty() ? operands[i] : views[i].base;
    if (failed(base)) {
      if (queues_ == nullptr) return false;
      for (const std::uint32_t result : step.nodes) values_[result] = {nullptr, {}, unknown_failure()};
      return true;
    }
    call_.operands[i] = address(base);
    const OperandRef home = schedule_.home(base);
    const bool is_input = home.kind() == OperandRef::Kind::leaf;
    const Buffer* const buffer = is_input ? arguments_.inputs[home.index()]->buffer.get() : nullptr;
    call_.inputs[i] = is_input && !buffer->shared() && !buffer->exported() ? 1 : 0;
    if (views.empty()) continue;
    const std::optional<std::int64_t> moved = offset(views[i].starts);
    if (!moved) return false;
    // What is kept of an input is forgotten by the address of the whole.
    if (*moved != 0) call_.inputs[i] = 0;
    call_.operands[i] = address(base) + *moved * static_cast<std::int64_t>(size_of(graph_.meta_of(operands[i]).dtype));
  }
  const PreparedCall& call = *program_.prepared_.calls[number];
  const bool waits = queues_ != nullptr && call.waits();
  if (waits) end_submission();
  take_donated(number);
  note_update(step);
  or_poison(number, number, [&] {
    if (!waits) begin_submission();
    call_.results.assign(info(record.op).result_count, nullptr);
    for (const std::uint32_t result : step.nodes) {
      place(result);
      call_.results[result == node ? 0 : graph_.nodes[result].result_index] = values_[result].data;
    }
    if (info(record.op).updates_first_operand && call_.results[0] != call_.operands[0]) {
      driver_.copy(call_.results[0], call_.operands[0], byte_size(record));
    }
    if (queues_ != nullptr && !waits) count(kOnDevice);
    call.run({call_.operands, call_.numbers, call_.results, call_.inputs, status_of(number)});
  });
  return true;
}

void ProgramRun::run_fallback(const FallbackRegion& region) {
  std::vector<ValueRef> results;
  try {
    std::vector<FallbackRegion::Input> inputs;
    for (const OperandRef operand : region.inputs()) {
      FailureRef failure = failure_of(operand);
      inputs.push_back({failure ? nullptr : address(operand), std::move(failure)});
    }
    results = region.compute(inputs, arguments_.scalars, arguments_.sources);
  } catch (const std::exception&) {
    // Nothing has changed on the device. What failed of them fails again, alone, and what needs less memory works.
    for (std::uint32_t s = region.first; s <= region.last; ++s) run_call_alone(s);
    return;
  }
  // Everything that they read has been fetched.
  for (std::uint32_t s = region.first; s <= region.last; ++s) take_donated(s);
  for (std::size_t k = 0; k < results.size(); ++k) {
    const std::uint32_t node = region.outputs()[k];
    const std::uint32_t step = program_.step_of_[node];
    if (results[k]->failure) {
      values_[node] = {nullptr, {}, results[k]->failure};
    } else if (!values_[node].failure) {  // as when there was no memory for another result of the op
      or_poison(step, step, [&] { place(node); });
    }
  }
  std::vector<void*> addresses;
  for (const std::uint32_t node : region.outputs()) addresses.push_back(values_[node].data);
  or_poison(region.first, region.last, [&] { region.put(results, addresses); });
}

void ProgramRun::run_call_alone(std::uint32_t number) {
  take_donated(number);
  note_update(schedule_.steps[number]);
  run_alone(number, number);
}

void ProgramRun::run_alone(std::uint32_t first, std::uint32_t last) {
  // What a device has code for, and runs alone because of a failure, is no fallback.
  const bool is_fallback = schedule_.steps[first].is_call() && program_.prepared_.calls[first] == nullptr;
  NodeRunner runner(graph_, schedule_, arguments_, values_, driver_, queues_, is_fallback);
  for (std::uint32_t s = first; s <= last; ++s) {
    const Step& step = schedule_.steps[s];
    if (step.is_kernel() && !or_poison(s, s, [&] { keep_overwritten(step.kernel()); })) continue;
    end_submission();
    for (const std::uint32_t node : step.nodes) {
      if (graph_.nodes[node].op == op::result) continue;
      runner.run_placed(node, [this](std::uint32_t stored) { place(stored); });
    }
  }
}

void ProgramRun::keep_overwritten(const KernelStep& step) {
  for (const InPlace& pair : step.in_place) {
    const OperandRef from = step.operands[pair.operand].base;
    const std::uint32_t result = step.operands[pair.result].base.index();
    if (from.kind() != OperandRef::Kind::record || failed(from) || address(from) == nullptr) continue;
    if (address(from) != expected_address(result)) continue;
    NodeValue& value = values_[from.index()];
    const std::size_t bytes = byte_size(graph_.nodes[from.index()]);
    BufferRef copy = driver_.allocate(bytes);
    begin_submission();
    driver_.copy(copy->data(), value.data, bytes);
    value.data = copy->data();
    value.buffer = std::move(copy);
  }
}

// --- donation ---

void ProgramRun::take_donated(std::uint32_t number) {
  program_.donors_.hand_over(
      number, given_, [&](std::uint32_t output) { return static_cast<bool>(output_buffers_[output]); },
      [&](const Donors::Donor& donor) {
        output_buffers_[donor.output] = arguments_.inputs[donor.input]->buffer;
        driver_.overwrites(*output_buffers_[donor.output]);
        count(kDonation);
      });
}

void ProgramRun::note_update(const Step& step) const {
  const Record& record = graph_.nodes[step.nodes[0]];
  if (!info(record.op).updates_first_operand) return;
  const OperandRef operand = schedule_.home(graph_.operands(record)[0]);
  if (operand.kind() == OperandRef::Kind::record && address(operand) == expected_address(step.nodes[0])) {
    count(kDonation);
  }
}

}  // namespace lento

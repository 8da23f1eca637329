#include "tensor/record.h"

#include "base/called.h"
#include "base/counters.h"
#include "base/devices.h"
#include "base/fail.h"
#include "base/interrupt.h"
#include "base/usable_devices.h"
#include "ir/op_counters.h"
#include "ir/op_number.h"
#include "tensor/append.h"
#include "tensor/before_recording.h"
#include "tensor/tapes.h"
#include "tensor/watch.h"

#include <atomic>
#include <utility>

namespace lento {

namespace {

Evaluator evaluator{};
constinit thread_local bool trimming_waits = false;  // until the front end lets this thread block

/// The tensor among these that cannot be an operand as it stands: pending in another thread's tape, or failed.
TensorState* find_obstacle(const Tape& tape, std::span<const RecordOperand> operands) {
  for (const RecordOperand& operand : operands) {
    if (!operand.is_tensor()) continue;
    const Tape* home = operand.state().tape.load(std::memory_order_acquire);
    if (home == &tape) continue;
    if (home != nullptr || known_failed(*operand.state().value)) return &operand.state();
  }
  return nullptr;
}

Source current_source() {
  Source source = current_call.source;
  source.scope = recorded_scope(current_call);
  return source;
}

/// A value that is poisoned from the start because an operand is.
Tensor make_failed(const Meta& meta, std::uint8_t device, const FailureRef& failure) {
  TensorState* state = make_state(meta.dtype, intern_shape(meta.shape), device);
  give_value(*state, Value::failed(failure, {state->dtype, device, state->shape, current_source()}));
  return Tensor::adopt(state);
}

std::uint8_t common_device(std::span<const RecordOperand> operands) {
  const TensorState* first = nullptr;
  for (const RecordOperand& operand : operands) {
    if (!operand.is_tensor()) continue;
    if (first == nullptr) first = &operand.state();
    if (first->device != operand.state().device) {
      fail<DeviceError>("operands are on different devices: {} and {}", RegisteredDevice::of(first->device).to_string(),
                        RegisteredDevice::of(operand.state().device).to_string());
    }
  }
  return first == nullptr ? Device().id() : first->device;
}

OperandRef operand_ref(Tape& tape, const RecordOperand& operand) {
  if (!operand.is_tensor()) return tape.add_scalar(operand.value(), operand.dtype());
  return tensor_ref(tape, operand.state());
}

/// Appends the op's record and op::result records for its further results; all get handles.
void append_records(std::uint8_t device, Op op, std::span<const Meta> metas, std::span<const RecordOperand> operands,
                    AttrsId attrs, std::span<Tensor> results) {
  require_usable(device);
  // Before anything is written to the tape: a shape that no tensor can have is refused here, for every op.
  std::array<ShapeId, 4> few_shapes{};
  std::vector<ShapeId> many_shapes(metas.size() > few_shapes.size() ? metas.size() : 0);
  const std::span<ShapeId> shapes = many_shapes.empty() ? std::span<ShapeId>(few_shapes) : std::span(many_shapes);
  for (std::size_t i = 0; i < metas.size(); ++i) shapes[i] = intern_shape(metas[i].shape);

  Tape& tape = tape_for(device);
  bool long_tape = false;
  while (true) {
    TensorState* obstacle = nullptr;
    {
      const TapeGuard guard(tape);
      obstacle = find_obstacle(tape, operands);
      if (obstacle == nullptr) {
        std::array<OperandRef, 8> few;
        std::vector<OperandRef> many;
        std::span<OperandRef> refs(few.data(), std::min(operands.size(), few.size()));
        if (operands.size() > few.size()) {
          many.resize(operands.size());
          refs = many;
        }
        for (std::size_t i = 0; i < operands.size(); ++i) refs[i] = operand_ref(tape, operands[i]);
        Record& head = tape.next();
        head = {.op = op, .dtype = metas[0].dtype, .shape = shapes[0], .attrs = attrs};
        tape.set_operands(head, refs);
        const Source source = current_source();
        results[0] = commit_with_handle(tape, head, source);
        const OperandRef head_ref = OperandRef::record(tape.size() - 1);
        for (std::size_t i = 1; i < metas.size(); ++i) {
          Record& further = tape.next();
          further = {.op = op::result, .dtype = metas[i].dtype, .operand_count = 1, .shape = shapes[i]};
          further.operands[0] = head_ref;
          further.result_index = static_cast<std::uint32_t>(i);
          results[i] = commit_with_handle(tape, further, source);
        }
        long_tape = is_long(tape);
      }
    }
    if (obstacle == nullptr) break;
    if (obstacle->pending()) {
      evaluator.evaluate(*obstacle);
      continue;
    }
    if (known_failed(*obstacle->value)) {
      for (std::size_t i = 0; i < metas.size(); ++i)
        results[i] = make_failed(metas[i], device, obstacle->value->failure);
      break;
    }
  }
  count_op(op);
  if (current_watcher != nullptr) {
    const RecordedOp recorded{op, attrs, operands, results, current_source()};
    tell_watchers([&](Watcher& watcher) { watcher.recorded(recorded); });
  }
  if (long_tape) trim(tape);
}

}  // namespace

const CounterId kFirstOpCounter = make_op_counters("op.");
std::atomic<std::uint32_t> pending_limit{100'000};

void trim(Tape& tape) {
  if (may_block()) {
    evaluator.trim(tape);
  } else if (!trimming_waits) {
    trimming_waits = true;
    reasons_to_wait.fetch_add(1, std::memory_order_relaxed);
  }
}

std::atomic<int> reasons_to_wait{0};

bool has_long_trace() { return trimming_waits; }

void forget_long_trace() {
  if (std::exchange(trimming_waits, false)) reasons_to_wait.fetch_sub(1, std::memory_order_relaxed);
}

void shorten_traces() {
  for (Tape* tape : current_tapes) {
    if (tape == nullptr) continue;
    const bool too_long = [&] {
      const TapeGuard guard(*tape);
      return is_long(*tape);
    }();
    if (too_long) evaluator.trim(*tape);
  }
  forget_long_trace();
}

void note_second_thread() {
  static std::atomic<bool> noted{false};
  if (!noted.exchange(true)) reasons_to_wait.fetch_add(1, std::memory_order_relaxed);
}

bool is_pending_elsewhere(const Tensor& x) {
  const Tape* home = x.state() == nullptr ? nullptr : x.state()->tape.load(std::memory_order_acquire);
  return home != nullptr && !owned_by_caller(*home);
}

void evaluate_operand(const Tensor& x) { evaluator.evaluate(state_of(x)); }

std::vector<Meta> metas_of(std::span<const Tensor> tensors) {
  std::vector<Meta> metas;
  metas.reserve(tensors.size());
  for (const Tensor& tensor : tensors) metas.push_back(meta_of(tensor));
  return metas;
}

Tensor record_on(Device device, Op op, const Meta& meta, std::span<const RecordOperand> operands, AttrsId attrs) {
  Tensor result;
  append_records(device.id(), op, {&meta, 1}, operands, attrs, {&result, 1});
  return result;
}

Tensor record(Op op, const Meta& meta, std::span<const RecordOperand> operands, AttrsId attrs) {
  return record_on(RegisteredDevice::of(common_device(operands)), op, meta, operands, attrs);
}

std::vector<Tensor> record_multi(Op op, std::span<const Meta> metas, std::span<const RecordOperand> operands,
                                 AttrsId attrs) {
  std::vector<Tensor> results(metas.size());
  append_records(common_device(operands), op, metas, operands, attrs, results);
  return results;
}

void set_evaluator(const Evaluator& e) { evaluator = e; }

std::uint32_t max_pending_nodes() { return pending_limit.load(std::memory_order_relaxed); }
void set_max_pending_nodes(std::uint32_t limit) { pending_limit.store(limit, std::memory_order_relaxed); }

// --- errors that name their operands ---

CallOperands::CallOperands(std::initializer_list<const Tensor*> tensors) {
  CallContext& context = current_call;
  active_ = context.depth == 1;
  if (!active_) return;
  for (const Tensor* tensor : tensors) {
    if (tensor != nullptr && count_ < kMost) tensors_[count_++] = tensor;
  }
  context.describe = describe;
  context.operands = this;
}

CallOperands::~CallOperands() {
  if (!active_) return;
  current_call.describe = nullptr;
  current_call.operands = nullptr;
}

std::string CallOperands::describe(const void* self) {
  const auto& operands = *static_cast<const CallOperands*>(self);
  std::string text;
  for (std::size_t i = 0; i < operands.count_; ++i) {
    const Tensor& tensor = *operands.tensors_[i];
    if (!tensor.defined()) continue;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", tensor.dtype(), tensor.shape());
  }
  return text;
}

}  // namespace lento

#include "tensor/record_known.h"

#include "base/called.h"
#include "tensor/append.h"
#include "tensor/tapes.h"
#include "tensor/watch.h"

#include <array>

namespace lento {

namespace {

/// `add_operands` fills in the operands, of which nothing may throw but for lack of memory.
template <class AddOperands>
Tensor append_known(const KnownOp& known, std::span<TensorState* const> tensors, AddOperands add_operands) {
  Tensor result;
  if (current_watcher != nullptr) return result;
  Source source = current_call.source;
  source.scope = recorded_scope(current_call);
  Tape& tape = tape_for(known.device);
  bool long_tape = false;
  {
    const OwnerLock lock(tape);
    // All are looked at first: a leaf without a record would keep its value's memory.
    if (!is_usable(known.device)) return result;
    for (const TensorState* state : tensors) {
      if (state->device != known.device || !can_be_operand(tape, *state)) return result;
    }
    Record& record = tape.next();
    record.op = known.op;
    record.dtype = known.dtype;
    record.shape = known.shape;
    record.attrs = known.attrs;
    record.operands[0] = record.operands[1] = record.operands[2] = {};
    record.result_index = 0;
    record.padding = 0;
    add_operands(tape, record);
    result = commit_with_handle(tape, record, source);
    long_tape = is_long(tape);
  }
  count_op(known.op);
  if (long_tape) [[unlikely]] {
    trim(tape);
  }
  return result;
}

}  // namespace

Tensor record_known(const KnownOp& known, std::span<TensorState* const> tensors,
                    std::span<const std::int64_t> integers) {
  return append_known(known, tensors, [&](Tape& tape, Record& record) {
    std::array<OperandRef, kMostKnownOperands> many;
    const std::size_t all = tensors.size() + integers.size();
    const bool few = all <= Record::kInlineOperands;
    OperandRef* next = few ? record.operands : many.data();
    for (TensorState* state : tensors) *next++ = tensor_ref(tape, *state);
    for (const std::int64_t integer : integers) *next++ = tape.add_scalar(integer, DType::int64);
    if (few) {
      record.operand_count = static_cast<std::uint8_t>(all);
    } else {
      tape.set_operands(record, {many.data(), all});
    }
  });
}

Tensor record_known(const KnownOp& known, const ScalarArgument& number) {
  return append_known(known, {}, [&](Tape& tape, Record& record) {
    record.operands[0] = tape.add_scalar(number.value, number.dtype);
    record.operand_count = 1;
  });
}

}  // namespace lento

#include "tensor/record_known.h"

#include "base/called.h"
#include "tensor/append.h"
#include "tensor/tapes.h"
#include "tensor/watch.h"

#include <array>

namespace lento {

Tensor record_known(const KnownOp& known, std::span<TensorState* const> tensors,
                    std::span<const ScalarArgument> numbers) {
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
    std::array<OperandRef, kMostKnownOperands> operands;
    std::size_t count = 0;
    for (TensorState* state : tensors) operands[count++] = tensor_ref(tape, *state);
    for (const ScalarArgument& number : numbers) operands[count++] = tape.add_scalar(number.value, number.dtype);
    Record& record = tape.next();
    record.op = known.op;
    record.dtype = known.dtype;
    record.shape = known.shape;
    record.attrs = known.attrs;
    record.operands[0] = record.operands[1] = record.operands[2] = {};
    record.result_index = 0;
    record.padding = 0;
    tape.set_operands(record, {operands.data(), count});
    result = commit_with_handle(tape, record, source);
    long_tape = is_long(tape);
  }
  count_op(known.op);
  if (long_tape) [[unlikely]] {
    trim(tape);
  }
  return result;
}

}  // namespace lento

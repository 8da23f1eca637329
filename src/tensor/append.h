// The innermost steps of recording, shared by the general path and the elementwise fast path.
#pragma once

#include "ir/tape.h"
#include "tensor/state.h"

namespace lento {

/// True when it is certain already that there will be no value; one that is still being computed is not asked.
inline bool known_failed(const Value& value) { return value.settled() && value.failure; }

/// The operand that stands for a tensor which is pending in this tape or has a value. Needs the tape's lock.
inline OperandRef tensor_ref(Tape& tape, TensorState& state) {
  if (state.tape.load(std::memory_order_relaxed) == &tape) return OperandRef::record(state.index);
  return tape.add_leaf(state.value.get(), state.dtype, state.shape);
}

/// Commits the record that was filled in at tape.next() and makes its handle. Needs the tape's lock.
inline Tensor commit_with_handle(Tape& tape, const Record& record, const Source& source) {
  Tensor result = Tensor::adopt(make_state(record.dtype, record.shape, tape.device));
  TensorState& state = *result.state();
  state.index = tape.commit(source, &state);
  state.tape.store(&tape, std::memory_order_release);
  return result;
}

void count_op(Op op);
void trim_if_long(Tape& tape);

}  // namespace lento

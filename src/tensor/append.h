// The innermost steps of recording, shared by the general path and the elementwise fast path.
#pragma once

#include "base/biased_lock.h"
#include "base/usable_devices.h"
#include "ir/tape.h"
#include "tensor/state_pool.h"

namespace lento {

/// True when it is certain already that there will be no value; one that is still being computed is not asked.
inline bool known_failed(const Value& value) { return value.settled() && value.failure; }

/// True when a tensor can be an operand of this tape's next record as it stands. Needs the lock.
inline bool can_be_operand(const Tape& tape, const TensorState& state) {
  const Tape* home = state.tape.load(std::memory_order_acquire);
  return home == &tape || (home == nullptr && !known_failed(*state.value));
}

/// Holds the lock of the calling thread's own tape.
class OwnerLock {
 public:
  explicit OwnerLock(Tape& tape) : lock_(tape.lock) { lock_.lock_owner(); }
  ~OwnerLock() { lock_.unlock_owner(); }
  OwnerLock(const OwnerLock&) = delete;
  OwnerLock& operator=(const OwnerLock&) = delete;

 private:
  BiasedLock& lock_;
};

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

extern const CounterId kFirstOpCounter;
inline void count_op(Op op) { count(kFirstOpCounter + static_cast<CounterId>(op)); }

extern std::atomic<std::uint32_t> pending_limit;
/// True when the tape has reached the limit of pending records (clause T9). Needs the tape's lock.
inline bool is_long(const Tape& tape) { return tape.size() >= pending_limit.load(std::memory_order_relaxed); }
/// Shortens a long tape of the calling thread. Must not be called with the lock.
void trim(Tape& tape);

}  // namespace lento

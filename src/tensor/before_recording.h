// What recording an op may have to wait for: a trace that has grown too long (clause T9), and an operand that is
// pending in another thread's tape. Without a front end the op waits where it notices. A front end that holds a lock of
// its own asks here before it records, lets go of that lock and waits then: nothing of the op has happened yet, so that
// the wait can be broken off (clause E10).
#pragma once

#include <lento/tensor.h>

#include <atomic>

namespace lento {

/// How many reasons there are to ask: 0 while one thread records and its trace is short. One load per op.
extern std::atomic<int> reasons_to_wait;

/// Whether the calling thread has put off shortening a trace because it could not block at that moment.
bool has_long_trace();
/// Shortens those traces. Throws what ends the wait; then they stay long, and the next op asks again.
void shorten_traces();

/// Whether it is pending in another thread's tape.
bool is_pending_elsewhere(const Tensor& x);
/// Starts computing it. Throws when it cannot be compiled, and what ends the wait.
void evaluate_operand(const Tensor& x);

/// For tapes.cpp: a second thread has begun to record on a device; a thread has ended.
void note_second_thread();
void forget_long_trace();

}  // namespace lento

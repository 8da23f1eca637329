// Making tensor states: each thread keeps some that were given back, and a block of ids, so that a new one costs a few
// instructions.
#pragma once

#include "base/counters.h"
#include "tensor/state.h"

#include <cstdint>

namespace lento {

struct StatePool {
  static constexpr std::uint32_t kMaxFree = 4096;
  static constexpr std::uint64_t kIdBlock = 1 << 16;

  std::uint32_t count = 0;
  std::uint64_t next_id = 0;
  std::uint64_t last_id = 0;
  TensorState* free[kMaxFree];

  ~StatePool();
  void take_ids();
  std::uint64_t take_id() {
    if (next_id == last_id) [[unlikely]] {
      take_ids();
    }
    return next_id++;
  }
};

extern const CounterId kTensorCreated;
/// Null before a thread's first tensor, and again when the thread is ending.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local StatePool* current_pool;

/// The same as make_state when the thread has nothing to reuse.
TensorState* make_first_state(DType dtype, ShapeId shape, std::uint8_t device);

/// A state with id, counters and the given type; refs is 1.
inline TensorState* make_state(DType dtype, ShapeId shape, std::uint8_t device) {
  StatePool* mine = current_pool;
  if (mine == nullptr || mine->count == 0) [[unlikely]] {
    return make_first_state(dtype, shape, device);
  }
  TensorState* state = mine->free[--mine->count];
  state->refs.store(1, std::memory_order_relaxed);
  state->dtype = dtype;
  state->device = device;
  state->shape = shape;
  state->id = mine->take_id();
  count(kTensorCreated);
  return state;
}

}  // namespace lento

#include "tensor/state.h"

#include "base/counters.h"
#include "base/devices.h"
#include "base/fail.h"
#include "ir/tape.h"
#include "tensor/state_pool.h"
#include "tensor/tapes.h"

#include <memory>

namespace lento {

namespace {

const CounterId kDestroyed = counter_id("tensor.destroyed");

std::atomic<std::uint64_t> next_id_block{1};

constinit thread_local bool pool_ended = false;

/// The calling thread's pool; null once the thread is ending.
StatePool* pool() {
  if (current_pool != nullptr || pool_ended) return current_pool;
  // On the heap: the static TLS that a library loaded at run time may use is too small for it.
  static thread_local std::unique_ptr<StatePool> owner;
  owner = std::make_unique<StatePool>();
  return current_pool = owner.get();
}

}  // namespace

const CounterId kTensorCreated = counter_id("tensor.created");
constinit thread_local StatePool* current_pool = nullptr;

StatePool::~StatePool() {
  while (count != 0) std::unique_ptr<TensorState>{free[--count]};
  current_pool = nullptr;
  pool_ended = true;
}

void StatePool::take_ids() {
  next_id = next_id_block.fetch_add(1, std::memory_order_relaxed) * kIdBlock;
  last_id = next_id + kIdBlock;
}

TensorState* make_first_state(DType dtype, ShapeId shape, std::uint8_t device) {
  StatePool* mine = pool();
  auto state = std::make_unique<TensorState>();
  state->dtype = dtype;
  state->shape = shape;
  state->device = device;
  if (mine != nullptr) {
    state->id = mine->take_id();
  } else {
    state->id = next_id_block.fetch_add(1, std::memory_order_relaxed) * StatePool::kIdBlock;
  }
  count(kTensorCreated);
  return state.release();
}

void TensorState::destroy(TensorState* state) {
  count(kDestroyed);
  if (Tape* tape = state->tape.load(std::memory_order_acquire); tape != nullptr) {
    TapeGuard guard(*tape);
    // Another thread may have evaluated it in the meantime.
    if (state->tape.load(std::memory_order_relaxed) == tape) {
      state->tape.store(nullptr, std::memory_order_relaxed);
      tape->drop_handle(state->index);
    }
  }
  if (state->value) {
    // A captured computation may hold the value by a state of its own, and not be whose it is.
    if (state->value->tensor_id.load(std::memory_order_relaxed) == state->id) {
      state->value->tensor_id.store(0, std::memory_order_relaxed);
    }
    state->value.reset();
  }
  StatePool* mine = current_pool;
  if (mine != nullptr && mine->count < StatePool::kMaxFree) {
    mine->free[mine->count++] = state;
  } else {
    std::unique_ptr<TensorState>{state};
  }
}

ValueInfo info_here(DType dtype, std::uint8_t device, ShapeId shape) {
  Source source = current_call.source;
  source.scope = current_call.scope;
  return {dtype, device, shape, source};
}

Tensor make_tensor(ValueRef value) {
  TensorState* state = make_state(value->info.dtype, value->info.shape, value->info.device);
  give_value(*state, std::move(value));
  return Tensor::adopt(state);
}

Tensor make_ready(BufferRef buffer, DType dtype, ShapeId shape) {
  const std::uint8_t device = buffer->device();
  return make_tensor(Value::ready(std::move(buffer), info_here(dtype, device, shape)));
}

void fail_undefined() { fail<ValueError>("the tensor handle is empty: it was default-constructed or moved from"); }

// --- Tensor: the handle itself ---

Tensor::Tensor(const Tensor& other) noexcept : state_(other.state_) {
  if (state_ != nullptr) state_->refs.fetch_add(1, std::memory_order_relaxed);
}

void Tensor::release(TensorState* state) noexcept { Ref<TensorState>::adopt(state).reset(); }

namespace {

/// As state_of, in a function that is not entered by a CallScope: only the error needs one.
TensorState& state_at(const Tensor& tensor, std::string_view caller, const std::source_location& site) {
  if (!tensor.defined()) [[unlikely]] {
    const CallScope scope(caller, site);
    fail_undefined();
  }
  return *tensor.state();
}

}  // namespace

DType Tensor::dtype(std::source_location site) const { return state_at(*this, "dtype", site).dtype; }
const Shape& Tensor::shape(std::source_location site) const { return shape_of(state_at(*this, "shape", site).shape); }
Device Tensor::device(std::source_location site) const {
  return RegisteredDevice::of(state_at(*this, "device", site).device);
}
bool Tensor::is_pending(std::source_location site) const { return state_at(*this, "is_pending", site).pending(); }
std::uint64_t Tensor::id(std::source_location site) const { return state_at(*this, "id", site).id; }

}  // namespace lento

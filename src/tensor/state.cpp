#include "tensor/state.h"

#include "base/counters.h"
#include "base/fail.h"
#include "ir/tape.h"
#include "tensor/tapes.h"

#include <memory>
#include <vector>

namespace lento {

namespace {

const CounterId kCreated = counter_id("tensor.created");
const CounterId kDestroyed = counter_id("tensor.destroyed");

constexpr std::size_t kMaxFree = 4096;
constexpr std::uint64_t kIdBlock = 1 << 16;
std::atomic<std::uint64_t> next_id_block{1};

/// What a thread keeps to make states without a system-wide lock.
struct StatePool {
  std::vector<TensorState*> free;
  std::uint64_t next_id = 0;
  std::uint64_t last_id = 0;

  StatePool() { free.reserve(kMaxFree); }
  ~StatePool();
};

[[gnu::tls_model("initial-exec")]] constinit thread_local StatePool* current_pool = nullptr;
constinit thread_local bool pool_ended = false;

StatePool::~StatePool() {
  for (TensorState* state : free) std::unique_ptr<TensorState>{state};
  current_pool = nullptr;
  pool_ended = true;
}

StatePool* pool() {
  if (current_pool != nullptr) [[likely]] return current_pool;
  if (pool_ended) return nullptr;  // the thread is ending: go to the heap
  static thread_local StatePool owner;
  return current_pool = &owner;
}

std::uint64_t next_id(StatePool* mine) {
  if (mine == nullptr) return next_id_block.fetch_add(1, std::memory_order_relaxed) * kIdBlock;
  if (mine->next_id == mine->last_id) {
    mine->next_id = next_id_block.fetch_add(1, std::memory_order_relaxed) * kIdBlock;
    mine->last_id = mine->next_id + kIdBlock;
  }
  return mine->next_id++;
}

}  // namespace

TensorState* make_state(DType dtype, ShapeId shape, std::uint8_t device) {
  StatePool* mine = pool();
  TensorState* state;
  if (mine != nullptr && !mine->free.empty()) {
    state = mine->free.back();
    mine->free.pop_back();
    state->refs.store(1, std::memory_order_relaxed);
  } else {
    state = std::make_unique<TensorState>().release();
  }
  state->dtype = dtype;
  state->shape = shape;
  state->device = device;
  state->id = next_id(mine);
  count(kCreated);
  return state;
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
  state->value.reset();
  StatePool* mine = pool();
  if (mine != nullptr && mine->free.size() < kMaxFree) {
    mine->free.push_back(state);
  } else {
    std::unique_ptr<TensorState>{state};
  }
}

Tensor make_ready(BufferRef buffer, DType dtype, ShapeId shape) {
  TensorState* state = make_state(dtype, shape, buffer->device());
  state->value = Value::ready(std::move(buffer));
  return Tensor::adopt(state);
}

void fail_undefined() { fail<ValueError>("the tensor handle is empty: it was default-constructed or moved from"); }

// --- Tensor: the handle itself ---

Tensor::Tensor(const Tensor& other) noexcept : state_(other.state_) {
  if (state_ != nullptr) state_->refs.fetch_add(1, std::memory_order_relaxed);
}

void Tensor::release(TensorState* state) noexcept { Ref<TensorState>::adopt(state).reset(); }

DType Tensor::dtype() const { return state_of(*this).dtype; }
const Shape& Tensor::shape() const { return shape_of(state_of(*this).shape); }
Device Tensor::device() const { return Device::from_id(state_of(*this).device); }
bool Tensor::is_pending() const { return state_of(*this).pending(); }
std::uint64_t Tensor::id() const { return state_of(*this).id; }

}  // namespace lento

// TensorState: one value that handles name. Pending while it stands in a tape; then it has a Value, which is a promise
// until the run that computes it ends, and immutable from there on.
#pragma once

#include <lento/device.h>
#include <lento/dtype.h>
#include <lento/error.h>
#include <lento/tensor.h>

#include "base/ref.h"
#include "base/source.h"
#include "base/value.h"
#include "ir/shape_table.h"

#include <atomic>
#include <cstdint>
#include <utility>

namespace lento {

class Tape;

struct TensorState {
  std::atomic<std::uint32_t> refs{1};  // handles; any thread
  DType dtype = DType::float32;        // set at creation
  std::uint8_t device = 0;             // set at creation
  ShapeId shape{};                     // set at creation
  std::uint32_t index = 0;             // record in `tape`; read and written under the tape's lock
  std::atomic<Tape*> tape{
      nullptr};          // not null while pending; cleared once, under the tape's lock, after `value` is set
  ValueRef value;        // once it has left its tape; may still be computed
  std::uint64_t id = 0;  // set at creation

  bool pending() const { return tape.load(std::memory_order_acquire) != nullptr; }
  static void destroy(TensorState* state);
};

/// Gives a state that is in no tape its value; the value then knows whose it is.
inline void give_value(TensorState& state, ValueRef value) {
  value->tensor_id.store(state.id, std::memory_order_relaxed);
  state.value = std::move(value);
}

/// A tensor that has this value, which may still be computed.
Tensor make_tensor(ValueRef value);
/// What a value is that the current call makes.
ValueInfo info_here(DType dtype, std::uint8_t device, ShapeId shape);
/// A ready tensor on this buffer.
Tensor make_ready(BufferRef buffer, DType dtype, ShapeId shape);

/// The state of a handle; throws ValueError when there is none.
inline TensorState& state_of(const Tensor& tensor);

[[noreturn]] void fail_undefined();

inline TensorState& state_of(const Tensor& tensor) {
  TensorState* state = tensor.state();
  if (state == nullptr) [[unlikely]]
    fail_undefined();
  return *state;
}

}  // namespace lento

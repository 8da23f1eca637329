// TensorState: one value that handles name. Pending while it stands in a tape; then ready (a buffer) or failed (an
// error), and immutable from there on.
#pragma once

#include <lento/device.h>
#include <lento/dtype.h>
#include <lento/error.h>
#include <lento/tensor.h>

#include "base/buffer.h"
#include "base/ref.h"
#include "base/source.h"
#include "ir/shape_table.h"

#include <atomic>
#include <cstdint>
#include <string>

namespace lento {

class Tape;

/// Why a value could not be computed. Shared by everything that depends on the failed op; its line is turned into text
/// only when somebody reads one of those tensors.
struct Failure {
  std::atomic<std::uint32_t> refs{1};
  ErrorKind kind = ErrorKind::backend;
  std::string message;  // "take_axis: index 9 is out of range …", without the line
  Source source;        // of the op that failed

  static void destroy(Failure* failure);
  /// Throws the error, with its line.
  [[noreturn]] void raise() const;
};
using FailureRef = Ref<Failure>;

struct TensorState {
  std::atomic<std::uint32_t> refs{1};  // handles; any thread
  DType dtype = DType::float32;        // set at creation
  std::uint8_t device = 0;             // set at creation
  ShapeId shape{};                     // set at creation
  std::uint32_t index = 0;             // record in `tape`; read and written under the tape's lock
  std::atomic<Tape*> tape{nullptr};  // not null while pending; cleared once, under the tape's lock, after the next two
  BufferRef buffer;                  // the value once ready
  FailureRef failure;                // the reason once failed
  std::uint64_t id = 0;              // set at creation

  bool pending() const { return tape.load(std::memory_order_acquire) != nullptr; }
  static void destroy(TensorState* state);
};

/// A ready tensor on this buffer.
LENTO_API Tensor make_ready(BufferRef buffer, DType dtype, ShapeId shape);

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

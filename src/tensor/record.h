// Recording: what every op function ends in. Checks, promotes, broadcasts and appends to the calling thread's tape.
#pragma once

#include <lento/operand.h>
#include <lento/tensor.h>

#include "base/source.h"
#include "ir/infer_elementwise.h"
#include "ir/op.h"
#include "ir/record.h"
#include "tensor/state.h"

#include <array>
#include <initializer_list>
#include <source_location>
#include <span>
#include <vector>

namespace lento {

class Tape;

/// One operand of a record: a tensor, or a number with the dtype it is used as.
class RecordOperand {
 public:
  RecordOperand(const Tensor& tensor) : state_(&state_of(tensor)) {}
  static RecordOperand number(const Scalar& value, DType dtype) { return RecordOperand(value, dtype); }

  bool is_tensor() const { return state_ != nullptr; }
  TensorState& state() const { return *state_; }
  const Scalar& value() const { return value_; }
  DType dtype() const { return state_ != nullptr ? state_->dtype : dtype_; }

 private:
  RecordOperand(const Scalar& value, DType dtype) : value_(value), dtype_(dtype) {}

  TensorState* state_ = nullptr;  // null for a number
  Scalar value_;
  DType dtype_ = DType::float32;
};

inline Meta meta_of(const Tensor& tensor) {
  const TensorState& state = state_of(tensor);
  return {state.dtype, shape_of(state.shape)};
}
std::vector<Meta> metas_of(std::span<const Tensor> tensors);

/// Appends one record; the device is that of the tensors among the operands (DeviceError when they differ).
Tensor record(Op op, const Meta& meta, std::span<const RecordOperand> operands, AttrsId attrs = {});
inline Tensor record(Op op, const Meta& meta, std::initializer_list<RecordOperand> operands, AttrsId attrs = {}) {
  return record(op, meta, std::span(operands.begin(), operands.size()), attrs);
}
/// For ops without tensor operands.
Tensor record_on(Device device, Op op, const Meta& meta, std::span<const RecordOperand> operands, AttrsId attrs = {});
inline Tensor record_on(Device device, Op op, const Meta& meta, std::initializer_list<RecordOperand> operands,
                        AttrsId attrs = {}) {
  return record_on(device, op, meta, std::span(operands.begin(), operands.size()), attrs);
}
/// An op with several results: the op's record is the first, op::result records follow it.
std::vector<Tensor> record_multi(Op op, std::span<const Meta> metas, std::span<const RecordOperand> operands,
                                 AttrsId attrs = {});

// Elementwise ops: dtype rule, casts and broadcasting included.
Tensor record_unary(Op op, const ElementwiseRule& rule, const Tensor& x, const std::source_location& site);
Tensor record_binary(Op op, const ElementwiseRule& rule, const Operand& a, const Operand& b);
Tensor record_elementwise(Op op, const ElementwiseRule& rule, std::span<const Operand> operands);
inline Tensor record_elementwise(Op op, const ElementwiseRule& rule, std::initializer_list<Operand> operands) {
  return record_elementwise(op, rule, std::span(operands.begin(), operands.size()));
}

/// `x` in `dtype`; `x` itself when it has it already. Throws DTypeError for a complex tensor and a real dtype other
/// than bool.
Tensor cast(const Tensor& x, DType dtype);

/// Lets errors name the operands of the outermost call: `… (got float32(2, 3), int64(4,))`.
class CallOperands {
 public:
  CallOperands(std::initializer_list<const Tensor*> tensors);
  ~CallOperands();
  CallOperands(const CallOperands&) = delete;
  CallOperands& operator=(const CallOperands&) = delete;

 private:
  static std::string describe(const void* self);

  static constexpr std::size_t kMost = 6;
  std::array<const Tensor*, kMost> tensors_{};
  std::size_t count_ = 0;
  bool active_ = false;
};

/// What recording needs from the layer that evaluates. Installed once by the executor.
struct Evaluator {
  /// Makes a pending tensor ready (or failed).
  void (*evaluate)(TensorState& state);
  /// The calling thread's tape has reached the limit of pending records (clause T9).
  void (*trim)(Tape& tape);
};
void set_evaluator(const Evaluator& evaluator);

std::uint32_t max_pending_nodes();
void set_max_pending_nodes(std::uint32_t limit);

}  // namespace lento

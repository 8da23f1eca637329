#include "autograd/rule.h"
#include "autograd/rule.calls.gen.h"

#include "autograd/rules.h"
#include "base/fail.h"
#include "ir/op.h"
#include "ir/op_contraction.gen.h"
#include "ops/composite_helpers.h"

#include <algorithm>

namespace lento {

Tensor fitted(const Tensor& x, const Shape& shape, DType dtype) {
  Tensor y = x;
  if (is_complex(y.dtype()) && !is_complex(dtype)) y = real(y);
  if (y.shape() != shape)
    y = element_count(y.shape()) == 1 && y.rank() < static_cast<std::int64_t>(shape.size()) ? broadcast_to(y, shape)
                                                                                            : sum_to_size(y, shape);
  return composite::converted(y, dtype);
}

RuleCall::RuleCall(const LoggedOp& op, std::span<const Tensor> grads)
    : op_(op), grads_(grads), taken_(op.operands.size()) {}

Tensor RuleCall::grad(std::size_t result) const {
  return grads_[result].defined() ? grads_[result] : zeros_like(op_.results[result]);
}

Tensor RuleCall::operand(std::size_t index) const {
  const LoggedOperand& operand = op_.operands[index];
  if (operand.tensor.defined()) return operand.tensor;
  return composite::number_tensor(operand.number, operand.dtype, op_.results[0].device());
}

std::vector<Tensor> RuleCall::operands_from(std::size_t first) const {
  std::vector<Tensor> tensors;
  for (std::size_t i = first; i < op_.operands.size(); ++i) tensors.push_back(operand(i));
  return tensors;
}

std::vector<Scalar> RuleCall::numbers_from(std::size_t first) const {
  std::vector<Scalar> numbers;
  for (std::size_t i = first; i < op_.operands.size(); ++i) numbers.push_back(op_.operands[i].number);
  return numbers;
}

bool RuleCall::wants_any_from(std::size_t first) const {
  for (std::size_t i = first; i < op_.operands.size(); ++i) {
    if (wants(i)) return true;
  }
  return false;
}

bool RuleCall::wants_any(std::initializer_list<std::size_t> operands) const {
  return std::ranges::any_of(operands, [&](std::size_t operand) { return wants(operand); });
}

void RuleCall::give(std::size_t operand, const Tensor& cotangent) {
  const Tensor& x = op_.operands[operand].tensor;
  taken_[operand] = fitted(cotangent, x.shape(), x.dtype());
}

void RuleCall::give_from(std::size_t first, const std::vector<Tensor>& cotangents) {
  for (std::size_t i = 0; i < cotangents.size(); ++i) {
    if (wants(first + i)) give(first + i, cotangents[i]);
  }
}

void RuleCall::give_all(std::initializer_list<std::size_t> operands, const std::vector<Tensor>& cotangents) {
  std::size_t next = 0;
  for (const std::size_t operand : operands) {
    const Tensor& cotangent = cotangents[next++];
    if (wants(operand)) give(operand, cotangent);
  }
}

namespace {

/// For refusing an op: where the derivative is asked for, or where the op stands if nobody knows that.
Source line_of(const LoggedOp& op) {
  const Source& known = call_context().source;
  return known.known() ? known : op.source;
}

void apply_custom(RuleCall& call) {
  const LoggedOp& op = call.op();
  std::vector<Tensor> inputs;
  for (const LoggedOperand& operand : op.operands) inputs.push_back(operand.tensor);
  std::vector<Tensor> grads;
  for (std::size_t i = 0; i < op.results.size(); ++i) grads.push_back(call.grad(i));
  const std::vector<Tensor> cotangents = (*op.custom)(inputs, op.results, grads);
  const SourceScope scope(line_of(op));
  if (cotangents.size() != inputs.size()) {
    fail<ValueError>("custom_gradient: the derivative gave {} cotangents for {} inputs", cotangents.size(),
                     inputs.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!call.wants(i) || !cotangents[i].defined()) continue;
    if (cotangents[i].shape() != inputs[i].shape()) {
      fail<ShapeError>("custom_gradient: the cotangent of input {} has shape {} instead of {}", i,
                       cotangents[i].shape(), inputs[i].shape());
    }
    call.give(i, cotangents[i]);
  }
}

/// A weight that a linear layer transposes gets its gradient as it lies in memory. Which way round is known from the
/// log alone, not from what was evaluated meanwhile: the two ways round differently.
void give_transposed(RuleCall& call) {
  const auto across = [&](std::size_t operand) {
    return call.wants(operand) && call.op().operands[operand].transposed;
  };
  if (across(0)) call.give(0, rules::matrix_multiply_left(call.grad(), call.operand(0), call.operand(1), true));
  if (across(1)) call.give(1, rules::matrix_multiply_right(call.grad(), call.operand(0), call.operand(1), true));
}

}  // namespace

void apply_rule(RuleCall& call) {
  const LoggedOp& op = call.op();
  if (op.custom != nullptr) {
    apply_custom(call);
    return;
  }
  const VjpRule rule = vjp_rule(op.op);
  if (rule == nullptr) {
    const std::string line = to_string(op.source);
    const SourceScope scope(line_of(op));
    fail<ValueError>("'{}'{} has no derivative; use stop_gradient on its operands if it is to be a constant",
                     info(op.op).name, line.empty() ? "" : " (" + line + ")");
  }
  // Reports and errors show the line of the op that is differentiated.
  const SourceScope scope(op.source);
  if (op.op == op::matrix_multiply) give_transposed(call);
  rule(call);
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    if (call.wants(i)) fail<ValueError>("'{}' has no derivative by its operand {}", info(op.op).name, i);
  }
}

}  // namespace lento

// How an op's derivative is applied. The rules are the `vjp` entries of the catalogue, which opgen turns into functions
// of a RuleCall (autograd/vjp.gen.cpp); what is too long for an entry is a function of autograd/rules.h.
#pragma once

#include "autograd/log.h"
#include "ir/op_number.h"

#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

namespace lento {

/// One op on the way back: what a rule reads, and where it leaves the cotangents of the operands.
class RuleCall {
 public:
  /// `grads` has one tensor a result, undefined where nothing came back.
  RuleCall(const LoggedOp& op, std::span<const Tensor> grads);

  const LoggedOp& op() const { return op_; }
  /// The cotangent of a result; zeros where nothing came back.
  Tensor grad(std::size_t result = 0) const;
  /// The same, undefined where nothing came back.
  const Tensor& grad_if_any(std::size_t result) const { return grads_[result]; }
  const Tensor& result(std::size_t index = 0) const { return op_.results[index]; }
  /// An operand; a number as a tensor without axes.
  Tensor operand(std::size_t index) const;
  /// The operands from `first` on.
  std::vector<Tensor> operands_from(std::size_t first) const;
  /// The numbers from operand `first` on.
  std::vector<Scalar> numbers_from(std::size_t first) const;
  const Scalar& number(std::size_t index) const { return op_.operands[index].number; }

  /// True when this operand is followed.
  bool wants(std::size_t operand) const { return op_.operands[operand].followed && !taken_[operand].defined(); }
  bool wants_any_from(std::size_t first) const;
  bool wants_any(std::initializer_list<std::size_t> operands) const;
  /// The operand's cotangent. It is summed over axes along which the operand was broadcast, and takes its dtype.
  void give(std::size_t operand, const Tensor& cotangent);
  void give_from(std::size_t first, const std::vector<Tensor>& cotangents);
  void give_all(std::initializer_list<std::size_t> operands, const std::vector<Tensor>& cotangents);

  /// What was given, one per operand; undefined where nothing was.
  std::vector<Tensor>& given() { return taken_; }

 private:
  const LoggedOp& op_;
  std::span<const Tensor> grads_;
  std::vector<Tensor> taken_;
};

using VjpRule = void (*)(RuleCall& call);
/// The rule of a primitive; null when it has no derivative.
VjpRule vjp_rule(Op op);

/// Applies the op's rule, a custom one included. Throws ValueError naming op and line when it has none.
void apply_rule(RuleCall& call);

/// `x` brought to `shape` and `dtype`: summed over what was broadcast, the real part where a real one is wanted.
Tensor fitted(const Tensor& x, const Shape& shape, DType dtype);

}  // namespace lento

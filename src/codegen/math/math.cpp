// Which function serves which op.
#include "codegen/math/math.h"

#include "codegen/math/functions.h"
#include "ir/op_elementwise.gen.h"

namespace lento::codegen {
namespace {

using Unary = Real (*)(Real);
using UnaryFor = Real (*)(Real, const TargetHooks&);
using UnaryOn = Real (*)(Real, Accuracy);
using BinaryOn = Real (*)(Real, Real, Accuracy);

/// How an op is computed: `in_float` on floats when there is one, or `for_target`, else `on` in doubles of the accuracy
/// that is needed, except that `in_double`, when there is one, serves doubles.
struct Function {
  UnaryFor for_target = nullptr;
  Unary in_float = nullptr;
  Unary in_double = nullptr;
  UnaryOn on = nullptr;
  BinaryOn binary = nullptr;
};

Function function_of(Op op) {
  switch (op) {
    case op::exp:
      return {.for_target = exp_float, .on = exp};
    case op::expm1:
      return {.on = expm1};
    case op::log:
      return {.in_float = log_float, .on = log};
    case op::log1p:
      return {.on = log1p};
    case op::log2:
      return {.on = log2};
    case op::log10:
      return {.on = log10};
    case op::sin:
      return {.in_float = sin_float, .in_double = sin};
    case op::cos:
      return {.in_float = cos_float, .in_double = cos};
    case op::tan:
      return {.on = tan};
    case op::asin:
      return {.on = asin};
    case op::acos:
      return {.on = acos};
    case op::atan:
      return {.on = atan};
    case op::sinh:
      return {.on = sinh};
    case op::cosh:
      return {.on = cosh};
    case op::tanh:
      return {.in_float = tanh_float, .in_double = tanh};
    case op::asinh:
      return {.on = asinh};
    case op::acosh:
      return {.on = acosh};
    case op::atanh:
      return {.on = atanh};
    case op::sigmoid:
      return {.for_target = sigmoid_float, .in_double = sigmoid};
    case op::erf:
      return {.in_float = erf_float, .in_double = erf};
    case op::erfc:
      return {.on = erfc};
    case op::erfinv:
      return {.in_float = erfinv_float, .in_double = erfinv};
    case op::atan2:
      return {.binary = atan2};
    case op::hypot:
      return {.binary = hypot};
    case op::logaddexp:
      return {.binary = logaddexp};
    case op::general_pow:
      return {.binary = pow};
    default:
      return {};
  }
}

Real apply(const Function& function, llvm::ArrayRef<Real> args, Accuracy accuracy) {
  if (function.binary != nullptr) return function.binary(args[0], args[1], accuracy);
  if (function.in_double != nullptr) return function.in_double(args[0]);
  return function.on(args[0], accuracy);
}

}  // namespace

bool has_math(Op op) {
  const Function function = function_of(op);
  return function.on != nullptr || function.binary != nullptr || function.in_double != nullptr;
}

llvm::Value* emit_math(llvm::IRBuilderBase& builder, Op op, llvm::ArrayRef<llvm::Value*> args,
                       const TargetHooks& hooks) {
  if (!has_math(op)) return nullptr;
  const Function function = function_of(op);
  llvm::Type* type = args[0]->getType();
  llvm::Type* element = type->getScalarType();
  if (!element->isFloatTy() && !element->isDoubleTy()) return nullptr;

  // The flags of whoever emits around this would break the exact sums.
  const llvm::IRBuilderBase::FastMathFlagGuard guard(builder);
  builder.clearFastMathFlags();

  llvm::SmallVector<Real, 2> values;
  for (llvm::Value* arg : args) values.push_back({&builder, arg});
  if (element->isDoubleTy()) return apply(function, values, Accuracy::full).value;
  if (function.for_target != nullptr) return function.for_target(values[0], hooks).value;
  if (function.in_float != nullptr) return function.in_float(values[0]).value;

  llvm::Type* wide = with_element(type, builder.getDoubleTy());
  for (Real& value : values) value.value = builder.CreateFPExt(value.value, wide);
  return builder.CreateFPTrunc(apply(function, values, Accuracy::brief).value, type);
}

}  // namespace lento::codegen

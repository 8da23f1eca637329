// Elementwise operations on vectors, and what reductions combine with.
#include "codegen/emitter.h"

#include "codegen/math/math.h"
#include "ir/op_elementwise.gen.h"
#include "ir/op_reduction.gen.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <limits>

namespace lento::codegen {

using llvm::Type;
using llvm::Value;
using llvm::Intrinsic::ID;

namespace {

Value* zero_like(Value* value) { return llvm::Constant::getNullValue(value->getType()); }

/// The comparison that `op` is, or a predicate that is none.
llvm::CmpInst::Predicate comparison(Op op, bool floating, bool is_signed) {
  using P = llvm::CmpInst::Predicate;
  switch (op) {
    case op::equal:
      return floating ? P::FCMP_OEQ : P::ICMP_EQ;
    case op::not_equal:
      return floating ? P::FCMP_UNE : P::ICMP_NE;
    case op::less:
      return floating ? P::FCMP_OLT : is_signed ? P::ICMP_SLT : P::ICMP_ULT;
    case op::less_equal:
      return floating ? P::FCMP_OLE : is_signed ? P::ICMP_SLE : P::ICMP_ULE;
    case op::greater:
      return floating ? P::FCMP_OGT : is_signed ? P::ICMP_SGT : P::ICMP_UGT;
    case op::greater_equal:
      return floating ? P::FCMP_OGE : is_signed ? P::ICMP_SGE : P::ICMP_UGE;
    default:
      return P::BAD_ICMP_PREDICATE;
  }
}

/// Ops whose result is exact in the dtype of their operands, so that 16-bit floats need no rounding.
bool is_exact(Op op) {
  switch (op) {
    case op::negative:
    case op::abs:
    case op::sign:
    case op::ceil:
    case op::floor:
    case op::trunc:
    case op::round:
    case op::copysign:
    case op::maximum:
    case op::minimum:
    case op::real:
    case op::conj:
      return true;
    default:
      return false;
  }
}

/// The elementwise op that a reduction repeats.
Op combining_op(Op reduction) {
  switch (reduction) {
    case op::reduce_sum:
      return op::add;
    case op::reduce_prod:
      return op::multiply;
    case op::reduce_max:
    case op::reduce_any:
      return op::maximum;
    default:
      return op::minimum;
  }
}

}  // namespace

DType accumulator_dtype(Op op, DType input) {
  if (op == op::reduce_any || op == op::reduce_all) return DType::bool_;
  if (finds_position(op) && is_bool(input)) return DType::uint8;
  return is_half(input) ? DType::float32 : input;
}

Value* Emitter::compute(Op op, DType dtype, DType result, std::span<Value* const> args, bool uniform) {
  if (op == op::barrier) return args[0];
  if (op == op::where) return select(dtype, args[0], args[1], args[2]);
  const bool floating = is_floating(dtype);
  Value* value = nullptr;
  if (const auto predicate = comparison(op, floating, is_signed_integer(dtype));
      predicate != llvm::CmpInst::BAD_ICMP_PREDICATE && !is_complex(dtype)) {
    return floating ? b_.CreateFCmp(predicate, args[0], args[1]) : b_.CreateICmp(predicate, args[0], args[1]);
  }
  if (is_bool(dtype)) {
    value = compute_bool(op, args);
  } else if (is_integer(dtype)) {
    value = compute_integer(op, dtype, args);
  } else if (is_complex(dtype)) {
    value = compute_complex(op, dtype, args);
  } else if (op != op::nextafter) {
    value = compute_float(op, args);
    if (value == nullptr) value = emit_math(b_, op, llvm::ArrayRef<Value*>(args.data(), args.size()), hooks_);
    if (value != nullptr && is_half(result) && !is_exact(op)) value = rounded(result, value);
    // Two floats make a complex64 only through the loop.
  }
  if (value != nullptr || hooks_.loop_symbol == nullptr) return value;
  return call_loop(op, dtype, result, args, uniform);
}

Value* Emitter::compute_bool(Op op, std::span<Value* const> args) {
  switch (op) {
    case op::add:
    case op::maximum:
    case op::bitwise_or:
      return b_.CreateOr(args[0], args[1]);
    case op::multiply:
    case op::minimum:
    case op::bitwise_and:
      return b_.CreateAnd(args[0], args[1]);
    case op::bitwise_xor:
      return b_.CreateXor(args[0], args[1]);
    case op::bitwise_invert:
    case op::logical_not:
      return b_.CreateNot(args[0]);
    case op::isnan:
    case op::isinf:
      return zero_like(args[0]);
    case op::isfinite:
      return llvm::Constant::getAllOnesValue(args[0]->getType());
    default:
      return nullptr;
  }
}

Value* Emitter::compute_integer(Op op, DType dtype, std::span<Value* const> args) {
  const bool is_signed = is_signed_integer(dtype);
  Value* a = args[0];
  Value* b = args.size() > 1 ? args[1] : nullptr;
  Value* zero = zero_like(a);
  Type* mask = type(DType::bool_);
  const std::uint64_t bits = size_of(dtype) * 8;
  switch (op) {
    case op::add:
      return b_.CreateAdd(a, b);
    case op::subtract:
      return b_.CreateSub(a, b);
    case op::multiply:
      return b_.CreateMul(a, b);
    case op::negative:
      return b_.CreateSub(zero, a);
    case op::floor_divide:
    case op::remainder:
    case op::fmod:
      return divide_integers(op, dtype, a, b);
    case op::abs:
      return is_signed ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, b_.getFalse()) : a;
    case op::sign: {
      Value* positive = b_.CreateZExt(is_signed ? b_.CreateICmpSGT(a, zero) : b_.CreateICmpNE(a, zero), a->getType());
      return is_signed ? b_.CreateOr(positive, b_.CreateSExt(b_.CreateICmpSLT(a, zero), a->getType())) : positive;
    }
    case op::ceil:
    case op::floor:
    case op::trunc:
    case op::round:
    case op::real:
    case op::conj:
      return a;
    case op::maximum:
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b);
    case op::minimum:
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b);
    case op::bitwise_and:
      return b_.CreateAnd(a, b);
    case op::bitwise_or:
      return b_.CreateOr(a, b);
    case op::bitwise_xor:
      return b_.CreateXor(a, b);
    case op::bitwise_invert:
      return b_.CreateNot(a);
    case op::bitwise_left_shift: {
      Value* fits = b_.CreateICmpULT(b, llvm::ConstantInt::get(b->getType(), bits));
      return b_.CreateSelect(fits, b_.CreateShl(a, b_.CreateSelect(fits, b, zero)), zero);
    }
    case op::bitwise_right_shift: {
      Value* fits = b_.CreateICmpULT(b, llvm::ConstantInt::get(b->getType(), bits));
      Value* places = b_.CreateSelect(fits, b, llvm::ConstantInt::get(b->getType(), bits - 1));
      return is_signed ? b_.CreateAShr(a, places) : b_.CreateSelect(fits, b_.CreateLShr(a, places), zero);
    }
    case op::logical_not:
      return b_.CreateICmpEQ(a, zero);
    case op::isnan:
    case op::isinf:
      return llvm::Constant::getNullValue(mask);
    case op::isfinite:
      return llvm::Constant::getAllOnesValue(mask);
    case op::signbit:
      return is_signed ? b_.CreateICmpSLT(a, zero) : llvm::Constant::getNullValue(mask);
    default:
      return nullptr;
  }
}

/// Towards zero; the divisor is neither 0 nor -1.
Value* Emitter::quotient(DType dtype, Value* a, Value* b) {
  const bool is_signed = is_signed_integer(dtype);
  if (size_of(dtype) == 8) return is_signed ? b_.CreateSDiv(a, b) : b_.CreateUDiv(a, b);
  // Processors divide no vectors of integers. The rounded quotient of floats with more digits than both has the same
  // whole part: it is no closer to a whole number than 1 / b, which is more than half of its last place.
  Type* real = in_lanes(size_of(dtype) == 4 ? b_.getDoubleTy() : b_.getFloatTy());
  if (is_signed) {
    return b_.CreateFPToSI(b_.CreateFDiv(b_.CreateSIToFP(a, real), b_.CreateSIToFP(b, real)), a->getType());
  }
  return b_.CreateFPToUI(b_.CreateFDiv(b_.CreateUIToFP(a, real), b_.CreateUIToFP(b, real)), a->getType());
}

Value* Emitter::divide_integers(Op op, DType dtype, Value* a, Value* b) {
  Value* zero = zero_like(a);
  Value* one = llvm::ConstantInt::get(a->getType(), 1);
  Value* by_zero = b_.CreateICmpEQ(b, zero);
  Value* unusual = by_zero;
  const bool is_signed = is_signed_integer(dtype);
  if (is_signed) unusual = b_.CreateOr(by_zero, b_.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(b->getType())));
  Value* divisor = b_.CreateSelect(unusual, one, b);
  Value* ratio = quotient(dtype, a, divisor);
  Value* rest = b_.CreateSub(a, b_.CreateMul(ratio, divisor));
  // Where rounding down differs from rounding towards zero.
  Value* below = nullptr;
  if (is_signed) {
    Value* signs_differ = b_.CreateICmpSLT(b_.CreateXor(rest, divisor), zero);
    below = b_.CreateAnd(b_.CreateICmpNE(rest, zero), signs_differ);
  }
  if (op == op::floor_divide) {
    if (is_signed) {
      ratio = b_.CreateSelect(below, b_.CreateSub(ratio, one), ratio);
      ratio = b_.CreateSelect(unusual, b_.CreateSub(zero, a), ratio);
    }
    return b_.CreateSelect(by_zero, zero, ratio);
  }
  if (op == op::remainder && is_signed) rest = b_.CreateSelect(below, b_.CreateAdd(rest, divisor), rest);
  return b_.CreateSelect(unusual, zero, rest);
}

Value* Emitter::compute_float(Op op, std::span<Value* const> args) {
  Value* a = args[0];
  Value* b = args.size() > 1 ? args[1] : nullptr;
  Type* floats = a->getType();
  const auto number = [&](double value) { return llvm::ConstantFP::get(floats, value); };
  const auto unary = [&](ID id) { return b_.CreateUnaryIntrinsic(id, a); };
  const double infinity = std::numeric_limits<double>::infinity();
  switch (op) {
    case op::add:
      return b_.CreateFAdd(a, b);
    case op::subtract:
      return b_.CreateFSub(a, b);
    case op::multiply:
      return b_.CreateFMul(a, b);
    case op::divide:
      return b_.CreateFDiv(a, b);
    case op::negative:
      return b_.CreateFNeg(a);
    case op::abs:
      return unary(llvm::Intrinsic::fabs);
    case op::sign: {
      Value* otherwise = b_.CreateSelect(b_.CreateFCmpUNO(a, a), a, number(0));
      Value* lower = b_.CreateSelect(b_.CreateFCmpOLT(a, number(0)), number(-1), otherwise);
      return b_.CreateSelect(b_.CreateFCmpOGT(a, number(0)), number(1), lower);
    }
    case op::ceil:
      return unary(llvm::Intrinsic::ceil);
    case op::floor:
      return unary(llvm::Intrinsic::floor);
    case op::trunc:
      return unary(llvm::Intrinsic::trunc);
    case op::round:
      return unary(llvm::Intrinsic::roundeven);
    case op::copysign:
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, a, b);
    case op::maximum:
    case op::minimum:
      return extreme(op, a, b);
    case op::real:
    case op::conj:
      return a;
    case op::sqrt:
      return unary(llvm::Intrinsic::sqrt);
    case op::rsqrt: {
      // In double, rounded once more: the definition.
      Type* doubles = in_lanes(b_.getDoubleTy());
      Value* wide = floats == doubles ? a : b_.CreateFPExt(a, doubles);
      Value* root = b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, wide);
      Value* inverse = b_.CreateFDiv(llvm::ConstantFP::get(doubles, 1), root);
      return floats == doubles ? inverse : b_.CreateFPTrunc(inverse, floats);
    }
    case op::logical_not:
      return b_.CreateFCmpOEQ(a, number(0));
    case op::isnan:
      return b_.CreateFCmpUNO(a, a);
    case op::isinf:
      return b_.CreateFCmpOEQ(unary(llvm::Intrinsic::fabs), number(infinity));
    case op::isfinite:
      return b_.CreateFCmpOLT(unary(llvm::Intrinsic::fabs), number(infinity));
    case op::signbit: {
      Type* bits = in_lanes(b_.getIntNTy(floats->getScalarSizeInBits()));
      return b_.CreateICmpSLT(b_.CreateBitCast(a, bits), llvm::Constant::getNullValue(bits));
    }
    default:
      return nullptr;
  }
}

/// What processors have gives the second operand when there is a nan or when both are zero. So both ways differ only
/// then: the sign bits of zeros are joined as bits, and a nan, which a sum keeps, is chosen separately.
Value* Emitter::extreme(Op op, Value* a, Value* b) {
  return b_.CreateSelect(b_.CreateFCmpUNO(a, b), b_.CreateFAdd(a, b), extreme_of_numbers(op, a, b));
}

Value* Emitter::extreme_of_numbers(Op op, Value* a, Value* b) {
  Type* floats = a->getType();
  Type* bits = in_lanes(b_.getIntNTy(floats->getScalarSizeInBits()));
  const bool larger = op == op::maximum;
  const auto choose = [&](Value* x, Value* y) {
    Value* chosen = b_.CreateSelect(larger ? b_.CreateFCmpOGT(x, y) : b_.CreateFCmpOLT(x, y), x, y);
    return b_.CreateBitCast(chosen, bits);
  };
  Value* joined = larger ? b_.CreateAnd(choose(a, b), choose(b, a)) : b_.CreateOr(choose(a, b), choose(b, a));
  return b_.CreateBitCast(joined, floats);
}

Value* Emitter::combine_numbers(Op reduction, Value* a, Value* b) {
  if (hooks_.extreme != nullptr && a->getType()->isVectorTy()) {
    return hooks_.extreme(b_, reduction == op::reduce_max, a, b);
  }
  return extreme_of_numbers(combining_op(reduction), a, b);
}

Value* Emitter::part_of(Value* value, unsigned part) {
  if (lanes_ == 1) return b_.CreateExtractElement(value, part);
  std::vector<int> every(lanes_);
  for (unsigned i = 0; i < lanes_; ++i) every[i] = static_cast<int>(2 * i + part);
  return b_.CreateShuffleVector(value, every);
}

Value* Emitter::alternating(Value* real, Value* imaginary) {
  std::vector<int> order(std::size_t{2} * lanes_);
  for (unsigned i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i % 2 == 0 ? i : order.size() + i);
  return b_.CreateShuffleVector(real, imaginary, order);
}

/// As the reference: (a + ib)(c + id) = ac - bd + i (ad + bc), without a look for infinities.
Value* Emitter::complex_product(Value* a, Value* b) {
  std::vector<int> first(std::size_t{2} * lanes_), second(first), swapped(first);
  for (unsigned i = 0; i < first.size(); ++i) {
    first[i] = static_cast<int>(i & ~1U);
    second[i] = static_cast<int>(i | 1U);
    swapped[i] = static_cast<int>(i ^ 1U);
  }
  Value* by_real = b_.CreateFMul(a, b_.CreateShuffleVector(b, first));
  Value* by_imaginary = b_.CreateFMul(b_.CreateShuffleVector(a, swapped), b_.CreateShuffleVector(b, second));
  return alternating(b_.CreateFSub(by_real, by_imaginary), b_.CreateFAdd(by_real, by_imaginary));
}

Value* Emitter::compute_complex(Op op, DType dtype, std::span<Value* const> args) {
  switch (op) {
    case op::real:
      return part_of(args[0], 0);
    case op::imag:
      return part_of(args[0], 1);
    case op::conj:
      return alternating(args[0], b_.CreateFNeg(args[0]));
    case op::multiply:
      return complex_product(args[0], args[1]);
    case op::abs: {
      // In doubles the squares of floats are exact, which leaves one way to round. Those of doubles are the loop's.
      if (dtype != DType::complex64) return nullptr;
      Value* const parts[] = {part_of(args[0], 0), part_of(args[0], 1)};
      return emit_math(b_, op::hypot, parts, hooks_);
    }
    case op::add:
      return b_.CreateFAdd(args[0], args[1]);
    case op::subtract:
      return b_.CreateFSub(args[0], args[1]);
    case op::negative:
      return b_.CreateFNeg(args[0]);
    case op::round:
      return b_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, args[0]);
    default:
      return nullptr;
  }
}

Value* Emitter::call_loop(Op op, DType dtype, DType result, std::span<Value* const> args, bool uniform) {
  llvm::LLVMContext& context = b_.getContext();
  Type* pointer = llvm::PointerType::getUnqual(context);
  const std::uint64_t vector_bytes = std::uint64_t{lanes_} * 16;
  if (scratch_ == nullptr) {
    scratch_ = local(4 * vector_bytes);
    pointers_ = local(3 * 8);
    strides_ = local(3 * 8);
    // Once for the whole function, right behind its local memory.
    llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
    auto after = entry.begin();
    while (llvm::isa<llvm::AllocaInst>(*after)) ++after;
    llvm::IRBuilder<> at_entry(&entry, after);
    for (unsigned j = 0; j < 3; ++j) {
      at_entry.CreateStore(at_entry.CreateConstGEP1_64(at_entry.getInt8Ty(), scratch_, j * vector_bytes),
                           at_entry.CreateConstGEP1_32(pointer, pointers_, j));
      at_entry.CreateStore(at_entry.getInt64(1), at_entry.CreateConstGEP1_32(at_entry.getInt64Ty(), strides_, j));
    }
  }
  for (unsigned j = 0; j < args.size(); ++j) {
    Value* to = b_.CreateConstGEP1_64(b_.getInt8Ty(), scratch_, j * vector_bytes);
    const DType stored = op == op::where && j == 0 ? DType::bool_ : dtype;
    store(stored, args[j], to, nullptr);
  }
  Value* out = b_.CreateConstGEP1_64(b_.getInt8Ty(), scratch_, 3 * vector_bytes);
  auto* signature = llvm::FunctionType::get(b_.getVoidTy(), {b_.getInt64Ty(), pointer, pointer, pointer}, false);
  llvm::Module* module = b_.GetInsertBlock()->getModule();
  llvm::FunctionCallee loop = module->getOrInsertFunction(hooks_.loop_symbol(op, dtype), signature);
  llvm::cast<llvm::Function>(loop.getCallee())->setDoesNotThrow();
  b_.CreateCall(loop, {b_.getInt64(uniform ? 1 : lanes_), out, pointers_, strides_});
  return uniform ? load_one(result, out) : load(result, out, nullptr);
}

Value* Emitter::combine(Op reduction, DType dtype, Value* a, Value* b) {
  Value* const args[] = {a, b};
  return compute(combining_op(reduction), dtype, dtype, args, false);
}

Value* Emitter::beats(Op op, DType dtype, Value* a, Value* b) {
  const bool larger = op == op::arg_max;
  if (is_floating(dtype)) {
    // Also true when one is nan; but nothing beats one that was there before.
    Value* wins = larger ? b_.CreateFCmpUGT(a, b) : b_.CreateFCmpULT(a, b);
    return b_.CreateAnd(wins, b_.CreateFCmpORD(b, b));
  }
  if (is_signed_integer(dtype)) return larger ? b_.CreateICmpSGT(a, b) : b_.CreateICmpSLT(a, b);
  return larger ? b_.CreateICmpUGT(a, b) : b_.CreateICmpULT(a, b);
}

Value* Emitter::identity(Op reduction, DType dtype) {
  const bool is_float = is_inexact(dtype);
  const bool largest = reduction == op::reduce_min || reduction == op::reduce_all || reduction == op::arg_min;
  switch (reduction) {
    case op::reduce_sum:
      return number(dtype, is_float ? -0.0 : 0);
    case op::reduce_prod:
      return number(dtype, 1);
    default:
      break;
  }
  if (is_float) {
    const double infinity = std::numeric_limits<double>::infinity();
    return number(dtype, largest ? infinity : -infinity);
  }
  const auto bits = static_cast<unsigned>(size_of(dtype) * 8);
  Type* integers = type(dtype);
  if (is_bool(dtype) || is_unsigned_integer(dtype)) {
    return largest ? llvm::Constant::getAllOnesValue(integers) : llvm::Constant::getNullValue(integers);
  }
  const llvm::APInt end = largest ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getSignedMinValue(bits);
  return llvm::ConstantInt::get(integers, end);
}

}  // namespace lento::codegen

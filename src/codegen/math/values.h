// Vectors of floats, masks and bits as values with operators, which emit instructions; and sums of two floats, which
// carry twice the precision. Everything here works on vectors of any length and on scalars.
#pragma once

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace lento::codegen {

struct Mask {
  llvm::IRBuilderBase* builder;
  llvm::Value* value;
};

struct Bits {
  llvm::IRBuilderBase* builder;
  llvm::Value* value;

  Bits constant(std::uint64_t number) const { return {builder, llvm::ConstantInt::get(value->getType(), number)}; }
};

struct Real {
  llvm::IRBuilderBase* builder;
  llvm::Value* value;

  llvm::Type* type() const { return value->getType(); }
  Real constant(double number) const { return {builder, llvm::ConstantFP::get(type(), number)}; }
};

// ---- Masks.

inline Mask operator&(Mask a, Mask b) { return {a.builder, a.builder->CreateAnd(a.value, b.value)}; }
inline Mask operator|(Mask a, Mask b) { return {a.builder, a.builder->CreateOr(a.value, b.value)}; }
inline Mask operator!(Mask a) { return {a.builder, a.builder->CreateNot(a.value)}; }

// ---- Bits.

inline Bits operator+(Bits a, Bits b) { return {a.builder, a.builder->CreateAdd(a.value, b.value)}; }
inline Bits operator-(Bits a, Bits b) { return {a.builder, a.builder->CreateSub(a.value, b.value)}; }
inline Bits operator&(Bits a, Bits b) { return {a.builder, a.builder->CreateAnd(a.value, b.value)}; }
inline Bits operator|(Bits a, Bits b) { return {a.builder, a.builder->CreateOr(a.value, b.value)}; }
inline Bits operator^(Bits a, Bits b) { return {a.builder, a.builder->CreateXor(a.value, b.value)}; }
inline Bits operator+(Bits a, std::uint64_t b) { return a + a.constant(b); }
inline Bits operator-(Bits a, std::uint64_t b) { return a - a.constant(b); }
inline Bits operator&(Bits a, std::uint64_t b) { return a & a.constant(b); }
inline Bits operator|(Bits a, std::uint64_t b) { return a | a.constant(b); }
inline Bits operator-(std::uint64_t a, Bits b) { return b.constant(a) - b; }
inline Bits operator<<(Bits a, unsigned places) { return {a.builder, a.builder->CreateShl(a.value, places)}; }
inline Bits operator>>(Bits a, unsigned places) { return {a.builder, a.builder->CreateLShr(a.value, places)}; }
inline Bits arithmetic_shift(Bits a, unsigned places) { return {a.builder, a.builder->CreateAShr(a.value, places)}; }
inline Mask not_zero(Bits a) { return {a.builder, a.builder->CreateICmpNE(a.value, a.constant(0).value)}; }

/// The type with `element` instead of its elements.
inline llvm::Type* with_element(llvm::Type* type, llvm::Type* element) {
  auto* vector = llvm::dyn_cast<llvm::VectorType>(type);
  return vector == nullptr ? element : llvm::VectorType::get(element, vector->getElementCount());
}

/// The bits of a float, as integers of its size.
inline Bits bits_of(Real x) {
  llvm::Type* integer = with_element(x.type(), x.builder->getIntNTy(x.type()->getScalarSizeInBits()));
  return {x.builder, x.builder->CreateBitCast(x.value, integer)};
}

inline Real real_of(Bits bits, Real like) {
  return {bits.builder, bits.builder->CreateBitCast(bits.value, like.type())};
}

// ---- Floats.

inline Real operator+(Real a, Real b) { return {a.builder, a.builder->CreateFAdd(a.value, b.value)}; }
inline Real operator-(Real a, Real b) { return {a.builder, a.builder->CreateFSub(a.value, b.value)}; }
inline Real operator*(Real a, Real b) { return {a.builder, a.builder->CreateFMul(a.value, b.value)}; }
inline Real operator/(Real a, Real b) { return {a.builder, a.builder->CreateFDiv(a.value, b.value)}; }
inline Real operator+(Real a, double b) { return a + a.constant(b); }
inline Real operator-(Real a, double b) { return a - a.constant(b); }
inline Real operator*(Real a, double b) { return a * a.constant(b); }
inline Real operator+(double a, Real b) { return b.constant(a) + b; }
inline Real operator-(double a, Real b) { return b.constant(a) - b; }
inline Real operator*(double a, Real b) { return b.constant(a) * b; }
inline Real operator/(double a, Real b) { return b.constant(a) / b; }
inline Real operator-(Real a) { return {a.builder, a.builder->CreateFNeg(a.value)}; }

inline Mask operator<(Real a, Real b) { return {a.builder, a.builder->CreateFCmpOLT(a.value, b.value)}; }
inline Mask operator>(Real a, Real b) { return {a.builder, a.builder->CreateFCmpOGT(a.value, b.value)}; }
inline Mask operator==(Real a, Real b) { return {a.builder, a.builder->CreateFCmpOEQ(a.value, b.value)}; }
inline Mask operator!=(Real a, Real b) { return {a.builder, a.builder->CreateFCmpUNE(a.value, b.value)}; }
inline Mask operator<(Real a, double b) { return a < a.constant(b); }
inline Mask operator>(Real a, double b) { return a > a.constant(b); }
inline Mask operator==(Real a, double b) { return a == a.constant(b); }
/// Where either is nan.
inline Mask unordered(Real a, Real b) { return {a.builder, a.builder->CreateFCmpUNO(a.value, b.value)}; }

inline Real select(Mask mask, Real yes, Real no) {
  return {mask.builder, mask.builder->CreateSelect(mask.value, yes.value, no.value)};
}
inline Real select(Mask mask, double yes, Real no) { return select(mask, no.constant(yes), no); }
inline Real select(Mask mask, Real yes, double no) { return select(mask, yes, yes.constant(no)); }

inline Real call(llvm::Intrinsic::ID function, Real a) {
  return {a.builder, a.builder->CreateUnaryIntrinsic(function, a.value)};
}
inline Real fma(Real a, Real b, Real c) {
  return {a.builder, a.builder->CreateIntrinsic(llvm::Intrinsic::fma, {a.type()}, {a.value, b.value, c.value})};
}
inline Real fma(Real a, double b, Real c) { return fma(a, a.constant(b), c); }
inline Real fma(Real a, Real b, double c) { return fma(a, b, a.constant(c)); }
inline Real fma(Real a, double b, double c) { return fma(a, a.constant(b), a.constant(c)); }
inline Real abs(Real a) { return call(llvm::Intrinsic::fabs, a); }
inline Real sqrt(Real a) { return call(llvm::Intrinsic::sqrt, a); }
inline Real trunc(Real a) { return call(llvm::Intrinsic::trunc, a); }
/// To the nearest whole number, ties to even.
inline Real round(Real a) { return call(llvm::Intrinsic::rint, a); }
inline Real copysign(Real magnitude, Real sign) {
  llvm::IRBuilderBase& builder = *magnitude.builder;
  return {&builder, builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude.value, sign.value)};
}

/// The bound where x is beyond it; nan stays. The form that becomes one instruction.
inline Real at_most(Real x, double bound) { return select(x > bound, bound, x); }
inline Real at_least(Real x, double bound) { return select(x < bound, bound, x); }

/// c0 + c1 x + c2 x^2 + ...
inline Real polynomial(Real x, std::span<const double> coefficients) {
  Real result = x.constant(coefficients.back());
  for (std::size_t i = coefficients.size() - 1; i-- > 0;) result = fma(result, x, coefficients[i]);
  return result;
}

/// The sum of a float and a far smaller one.
struct Pair {
  Real hi;
  Real lo;
};

/// a + b exactly, when |a| >= |b| or a is 0.
inline Pair ordered_sum(Real a, Real b) {
  const Real sum = a + b;
  return {sum, b - (sum - a)};
}

/// a + b exactly.
inline Pair exact_sum(Real a, Real b) {
  const Real sum = a + b;
  const Real from_b = sum - a;
  return {sum, (a - (sum - from_b)) + (b - from_b)};
}

/// a * b exactly, short of underflow.
inline Pair exact_product(Real a, Real b) {
  const Real product = a * b;
  return {product, fma(a, b, -product)};
}

/// (a.hi + a.lo) / (b.hi + b.lo), rounded nearly correctly.
inline Real quotient(Pair a, Pair b) {
  const Real inverse = 1.0 / b.hi;
  const Real first = a.hi * inverse;
  const Real rest = fma(-first, b.hi, a.hi) + (a.lo - first * b.lo);
  return fma(rest, inverse, first);
}

/// How exact a function on doubles has to be.
enum class Accuracy {
  full,   // for a double
  brief,  // for a float: some 2^-30 will do, and neither overflow nor subnormals matter
};

}  // namespace lento::codegen

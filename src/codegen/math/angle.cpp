// Angles reduced to a quarter turn. Up to a bound, multiples of pi/2 in a few parts are subtracted, each exactly or
// with an error relative to what is left. Beyond it, and behind a branch that is hardly ever taken, the angle is
// multiplied with as many bits of 2/pi as matter modulo 4 (Payne and Hanek).
#include "codegen/math/functions.h"
#include "codegen/math/polynomials.h"
#include "codegen/math/two_over_pi.h"

#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <iterator>

namespace lento::codegen {
namespace {

constexpr double kRounder = 0x1.8p52;
constexpr double kFloatRounder = 0x1.8p23;

llvm::Value* any_lane(Mask mask) {
  return mask.value->getType()->isVectorTy() ? mask.builder->CreateOrReduce(mask.value) : mask.value;
}

/// The table of 2/pi as a constant of the module that is being built.
llvm::Value* table_of(llvm::IRBuilderBase& builder) {
  static constexpr const char* kName = "lento_two_over_pi";
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  if (llvm::GlobalVariable* known = module.getGlobalVariable(kName, true)) return known;
  llvm::Constant* values = llvm::ConstantDataArray::get(builder.getContext(), llvm::ArrayRef(kShiftedTwoOverPi));
  return new llvm::GlobalVariable(module, values->getType(), true, llvm::GlobalValue::PrivateLinkage, values, kName);
}

/// An angle as a whole number times the power of two of a row of the table. The ulp of the angle must be at least the
/// power of the first row; for smaller ones this gives anything.
struct ScaledAngle {
  Real whole;
  Bits row;
};

ScaledAngle scaled_angle(Real x, int mantissa_bits) {
  // The power of two is the largest that is not above the ulp.
  const int power = 1023 + mantissa_bits - 1 + kFirstShift;
  const auto first = static_cast<std::uint64_t>(power);
  const Bits exponent = bits_of(x) >> 52;  // x is not negative
  llvm::IRBuilderBase& builder = *x.builder;
  const Bits bounded{
      &builder, builder.CreateBinaryIntrinsic(llvm::Intrinsic::umax, exponent.value, exponent.constant(first).value)};
  // Infinities and nans have an exponent that may lie behind the last row; of what they give any row makes a nan.
  constexpr std::uint64_t kLastRow = std::size(kShiftedTwoOverPi) / kPartsOfShift - 1;
  Bits row = (bounded - first) >> 3;
  if ((2047 - first) >> 3 > kLastRow) {
    llvm::Value* const last = row.constant(kLastRow).value;
    row.value = builder.CreateSelect(builder.CreateICmpULT(row.value, last), row.value, last);
  }
  static_assert(kShiftStep == 8);
  const Bits inverse = ((1023 - kFirstShift) - (row << 3)) << 52;
  return {x * real_of(inverse, x), row};
}

Real load_part(ScaledAngle angle, llvm::Value* table, std::uint64_t part) {
  llvm::IRBuilderBase& builder = *angle.row.builder;
  static_assert(kPartsOfShift == 4);
  const Bits index = (angle.row << 2) + part;
  llvm::Value* address = builder.CreateGEP(builder.getDoubleTy(), table, index.value);
  llvm::Type* type = angle.whole.type();
  if (!type->isVectorTy()) return {&builder, builder.CreateLoad(type, address)};
  return {&builder, builder.CreateMaskedGather(type, address, llvm::Align(8))};
}

/// Modulo 4, in [-2, 2]. Exact: what is too large to have a fraction is a multiple of 4 or leaves a whole number.
Real modulo_4(Real x) { return fma(round(x * 0.25), -4.0, x); }

/// quadrant + fraction, times pi/2.
struct Turn {
  Real quadrant;
  Pair fraction;
};

Turn turn_of_large(Real x, Accuracy accuracy) {
  const bool full = accuracy == Accuracy::full;
  const ScaledAngle angle = scaled_angle(x, full ? 53 : 24);
  llvm::Value* table = table_of(*x.builder);
  const Pair first = exact_product(angle.whole, load_part(angle, table, 0));
  const Real start = modulo_4(first.hi);
  if (!full) {
    const Real quadrant = round(start);
    return {quadrant, {(start - quadrant) + fma(angle.whole, load_part(angle, table, 1), first.lo), x.constant(0)}};
  }
  const Pair second = exact_product(angle.whole, load_part(angle, table, 1));
  const Pair third = exact_product(angle.whole, load_part(angle, table, 2));
  const Real fourth = angle.whole * load_part(angle, table, 3);
  const Pair middle = exact_sum(first.lo, second.hi);
  const Pair total = exact_sum(start, middle.hi);
  const Real quadrant = round(total.hi);
  // What is left of the leading sum may cancel with all that follows, so each sum is exact.
  Pair sum{total.hi - quadrant, x.constant(0)};
  for (const Real part : {total.lo, middle.lo, second.lo, third.hi}) {
    const Pair next = exact_sum(sum.hi, part);
    sum = {next.hi, sum.lo + next.lo};
  }
  return {quadrant, ordered_sum(sum.hi, sum.lo + (third.lo + fourth))};
}

ReducedAngle reduce_large(Real x, Accuracy accuracy) {
  const Turn turn = turn_of_large(x, accuracy);
  const Bits quadrant = bits_of(turn.quadrant + kRounder);
  const Pair product = exact_product(turn.fraction.hi, x.constant(kHalfPi[0]));
  if (accuracy == Accuracy::brief) return {quadrant, {product.hi, x.constant(0)}};
  const Real rest = fma(turn.fraction.hi, kHalfPi[1], fma(turn.fraction.lo, kHalfPi[0], product.lo));
  return {quadrant, ordered_sum(product.hi, rest)};
}

/// `usual`, but where `mask` holds what `rare` emits; that is only run when there is such a lane.
ReducedAngle unlikely(Mask mask, ReducedAngle usual, const std::function<ReducedAngle()>& rare) {
  llvm::IRBuilderBase& builder = *mask.builder;
  llvm::LLVMContext& context = builder.getContext();
  llvm::Value* any = any_lane(mask);
  llvm::BasicBlock* before = builder.GetInsertBlock();
  llvm::Function* function = before->getParent();
  llvm::BasicBlock* after = nullptr;
  if (before->getTerminator() != nullptr) {
    after = before->splitBasicBlock(builder.GetInsertPoint(), "reduced");
    before->getTerminator()->eraseFromParent();
  } else {
    after = llvm::BasicBlock::Create(context, "reduced", function, before->getNextNode());
  }
  llvm::BasicBlock* large = llvm::BasicBlock::Create(context, "large_angle", function, after);
  builder.SetInsertPoint(before);
  builder.CreateCondBr(any, large, after, llvm::MDBuilder(context).createUnlikelyBranchWeights());

  builder.SetInsertPoint(large);
  const ReducedAngle other = rare();
  llvm::Value* values[] = {builder.CreateSelect(mask.value, other.quadrant.value, usual.quadrant.value),
                           select(mask, other.angle.hi, usual.angle.hi).value,
                           select(mask, other.angle.lo, usual.angle.lo).value};
  llvm::BasicBlock* large_end = builder.GetInsertBlock();
  builder.CreateBr(after);

  builder.SetInsertPoint(after, after->begin());
  llvm::Value* usual_values[] = {usual.quadrant.value, usual.angle.hi.value, usual.angle.lo.value};
  for (std::size_t i = 0; i < 3; ++i) {
    llvm::PHINode* merged = builder.CreatePHI(values[i]->getType(), 2);
    merged->addIncoming(usual_values[i], before);
    merged->addIncoming(values[i], large_end);
    values[i] = merged;
  }
  return {{&builder, values[0]}, {{&builder, values[1]}, {&builder, values[2]}}};
}

}  // namespace

ReducedAngle reduce_angle(Real x, Accuracy accuracy) {
  const Real magnitude = abs(x);
  const Real shifted = fma(magnitude, kTwoOverPi[0], kRounder);
  const Real n = shifted - kRounder;
  const Real near = fma(n, -kHalfPi[0], magnitude);  // exact
  Pair angle{near, x.constant(0)};
  if (accuracy == Accuracy::full) {
    const Pair second = exact_product(n, x.constant(kHalfPi[1]));
    angle = exact_sum(near, -second.hi);
    angle.lo = fma(n, -kHalfPi[2], angle.lo - second.lo);
  } else {
    angle.hi = fma(n, -kHalfPi[1], near);
  }
  return unlikely(magnitude > 0x1p30, {bits_of(shifted), angle}, [&] { return reduce_large(magnitude, accuracy); });
}

ReducedAngle reduce_angle_float(Real x) {
  const Real magnitude = abs(x);
  const Real shifted = fma(magnitude, kTwoOverPi[0], kFloatRounder);
  const Real n = shifted - kFloatRounder;
  const Real near = fma(n, -kHalfPiFloat[0], magnitude);  // exact
  const Real angle = fma(n, -kHalfPiFloat[1], near);
  const Real rest = n * -kHalfPiFloat[2];
  const Bits quadrant = bits_of(shifted);
  return unlikely(magnitude > 0x1p15, {quadrant, {angle, rest}}, [&]() -> ReducedAngle {
    llvm::IRBuilderBase& builder = *x.builder;
    llvm::Type* wide = with_element(x.type(), builder.getDoubleTy());
    const Real extended{&builder, builder.CreateFPExt(magnitude.value, wide)};
    const ReducedAngle large = reduce_large(extended, Accuracy::brief);
    const Real hi{&builder, builder.CreateFPTrunc(large.angle.hi.value, x.type())};
    const Bits low_bits{&builder, builder.CreateTrunc(large.quadrant.value, quadrant.value->getType())};
    return {low_bits, {hi, hi.constant(0)}};
  });
}

}  // namespace lento::codegen

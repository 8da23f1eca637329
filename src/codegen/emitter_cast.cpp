// Conversions between dtypes, with the rules of the reference's convert.h, and the rounding to 16-bit floats.
#include "codegen/emitter.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <cmath>

namespace lento::codegen {

using llvm::Type;
using llvm::Value;

Value* Emitter::rounded(DType dtype, Value* value) {
  if (dtype == DType::float16) {
    Value* narrow = b_.CreateFPTrunc(value, in_lanes(b_.getHalfTy()));
    return b_.CreateFPExt(narrow, type(dtype));
  }
  if (dtype != DType::bfloat16) return value;
  // To nearest, ties to even: half of the last place, less one unless the last bit kept is set. A carry goes where it
  // should, up to infinity. A nan stays one.
  Type* words = in_lanes(b_.getInt32Ty());
  const auto word = [&](std::uint32_t bits) { return llvm::ConstantInt::get(words, bits); };
  Value* bits = b_.CreateBitCast(value, words);
  Value* odd = b_.CreateAnd(b_.CreateLShr(bits, word(16)), word(1));
  Value* nearest = b_.CreateAdd(bits, b_.CreateAdd(odd, word(0x7fff)));
  Value* quiet = b_.CreateOr(bits, word(0x400000));
  Value* chosen = b_.CreateSelect(b_.CreateFCmpUNO(value, value), quiet, nearest);
  return b_.CreateBitCast(b_.CreateAnd(chosen, word(0xffff0000)), type(dtype));
}

/// Rounded once. On the way to float32 the digits that are lost are remembered in the last bit kept ("round to odd"),
/// which keeps the second rounding from being misled.
Value* Emitter::double_to_half(DType to, Value* value) {
  Type* words = in_lanes(b_.getInt32Ty());
  Value* near = b_.CreateFPTrunc(value, type(DType::float32));
  Value* back = b_.CreateFPExt(near, value->getType());
  Value* inexact = b_.CreateFCmpONE(back, value);
  Value* further = b_.CreateFCmpOGT(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                    b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value));
  Value* bits = b_.CreateBitCast(near, words);
  Value* cut = b_.CreateSub(bits, b_.CreateZExt(further, words));
  Value* odd = b_.CreateOr(cut, b_.CreateZExt(inexact, words));
  return rounded(to, b_.CreateBitCast(odd, type(DType::float32)));
}

/// A 64-bit integer as a double that rounds further as the integer itself would.
Value* Emitter::wide_integer_to_double(DType from, Value* value) {
  Type* longs = value->getType();
  Type* doubles = type(DType::float64);
  const auto word = [&](std::uint64_t bits) { return llvm::ConstantInt::get(longs, bits); };
  const bool is_signed = is_signed_integer(from);
  Value* magnitude = is_signed ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, value, b_.getFalse()) : value;
  constexpr int kExtra = 64 - 53;
  Value* lost = b_.CreateICmpNE(b_.CreateAnd(magnitude, word((1U << kExtra) - 1)), word(0));
  Value* sticky = b_.CreateOr(b_.CreateLShr(magnitude, word(kExtra)), b_.CreateZExt(lost, longs));
  Value* big = b_.CreateICmpNE(b_.CreateLShr(magnitude, word(53)), word(0));
  // Below 2^53, so exact; read as signed, which processors convert more easily.
  Value* exact = b_.CreateSIToFP(b_.CreateSelect(big, sticky, magnitude), doubles);
  Value* scale = b_.CreateSelect(big, llvm::ConstantFP::get(doubles, 1 << kExtra), llvm::ConstantFP::get(doubles, 1));
  Value* result = b_.CreateFMul(exact, scale);
  if (!is_signed) return result;
  return b_.CreateSelect(b_.CreateICmpSLT(value, word(0)), b_.CreateFNeg(result), result);
}

Value* Emitter::float_to_integer(DType to, Value* value) {
  const bool is_signed = is_signed_integer(to);
  const auto bits = static_cast<int>(size_of(to) * 8);
  Type* floats = value->getType();
  Type* integers = type(to);
  const double limit = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  Value* highest = llvm::ConstantFP::get(floats, limit);
  Value* lowest = llvm::ConstantFP::get(floats, is_signed ? -limit : 0.0);
  Value* too_high = b_.CreateFCmpOGE(value, highest);
  Value* too_low = b_.CreateFCmpOLE(value, lowest);
  Value* inside = b_.CreateAnd(b_.CreateFCmpOLT(value, highest), b_.CreateFCmpOGT(value, lowest));
  Value* safe = b_.CreateSelect(inside, value, llvm::Constant::getNullValue(floats));
  Value* whole = nullptr;
  if (bits < 32) {
    // Processors convert to 32 and 64 bits.
    whole = b_.CreateTrunc(b_.CreateFPToSI(safe, in_lanes(b_.getInt32Ty())), integers);
  } else {
    whole = is_signed ? b_.CreateFPToSI(safe, integers) : b_.CreateFPToUI(safe, integers);
  }
  const auto width = static_cast<unsigned>(bits);
  const llvm::APInt top = is_signed ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getMaxValue(width);
  const llvm::APInt bottom = is_signed ? llvm::APInt::getSignedMinValue(width) : llvm::APInt::getZero(width);
  whole = b_.CreateSelect(too_high, llvm::ConstantInt::get(integers, top), whole);
  return b_.CreateSelect(too_low, llvm::ConstantInt::get(integers, bottom), whole);
}

Value* Emitter::cast(Value* value, DType from, DType to) {
  if (from == to) return value;
  if (is_complex(from)) {
    if (is_complex(to)) {
      return to == DType::complex128 ? b_.CreateFPExt(value, type(to)) : b_.CreateFPTrunc(value, type(to));
    }
    // To bool: whether either part differs from zero.
    Value* differs = b_.CreateFCmpUNE(value, llvm::Constant::getNullValue(value->getType()));
    if (lanes_ == 1) return b_.CreateOrReduce(differs);
    std::vector<int> even(lanes_), odd(lanes_);
    for (unsigned i = 0; i < lanes_; ++i) {
      even[i] = static_cast<int>(2 * i);
      odd[i] = even[i] + 1;
    }
    return b_.CreateOr(b_.CreateShuffleVector(differs, even), b_.CreateShuffleVector(differs, odd));
  }
  if (is_complex(to)) {
    Value* real = cast(value, from, real_type(to));
    if (lanes_ == 1) return b_.CreateInsertElement(llvm::Constant::getNullValue(type(to)), real, std::uint64_t{0});
    Value* zero = llvm::Constant::getNullValue(real->getType());
    std::vector<int> interleaved(2 * lanes_);
    for (unsigned i = 0; i < lanes_; ++i) {
      interleaved[2 * i] = static_cast<int>(i);
      interleaved[2 * i + 1] = static_cast<int>(lanes_);
    }
    return b_.CreateShuffleVector(real, zero, interleaved);
  }
  Type* target = type(to);
  if (is_bool(to)) {
    Value* zero = llvm::Constant::getNullValue(value->getType());
    return is_floating(from) ? b_.CreateFCmpUNE(value, zero) : b_.CreateICmpNE(value, zero);
  }
  if (is_bool(from)) {
    if (is_integer(to)) return b_.CreateZExt(value, target);
    return b_.CreateSelect(value, number(to, 1), number(to, 0));
  }
  if (is_integer(from) && is_integer(to)) return b_.CreateIntCast(value, target, is_signed_integer(from));
  if (is_integer(to)) return float_to_integer(to, value);
  if (is_integer(from)) {
    const std::size_t bytes = size_of(from);
    if (is_half(to) && bytes == 8) return double_to_half(to, wide_integer_to_double(from, value));
    // 32 bits are exact in double, 16 in float.
    const DType through = !is_half(to) ? to : bytes == 4 ? DType::float64 : DType::float32;
    Value* real =
        is_signed_integer(from) ? b_.CreateSIToFP(value, type(through)) : b_.CreateUIToFP(value, type(through));
    if (!is_half(to)) return real;
    return through == DType::float64 ? double_to_half(to, real) : rounded(to, real);
  }
  if (from == DType::float64) return is_half(to) ? double_to_half(to, value) : b_.CreateFPTrunc(value, target);
  if (to == DType::float64) return b_.CreateFPExt(value, target);
  return rounded(to, value);
}

}  // namespace lento::codegen

#include "backends/cpu/code/isa_hooks.h"

#include "backends/cpu/code/loop_symbols.h"

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>

namespace lento::cpu {
namespace {

using llvm::Value;

constexpr unsigned kRegisterBits = 512;
constexpr unsigned kCurrentRounding = 4;

/// Calls `emit` with the parts of vectors, which have one type, that fit into registers of 512 bits, filled up if need
/// be, and puts its results together.
Value* by_registers(llvm::IRBuilderBase& b, llvm::ArrayRef<Value*> vectors,
                    llvm::function_ref<Value*(llvm::ArrayRef<Value*>)> emit) {
  auto* type = llvm::cast<llvm::FixedVectorType>(vectors[0]->getType());
  const unsigned lanes = type->getNumElements();
  const unsigned width = kRegisterBits / type->getScalarSizeInBits();
  if (lanes == width) return emit(vectors);
  const auto numbers = [](unsigned first, unsigned count, unsigned exist) {
    llvm::SmallVector<int> result;
    for (unsigned i = first; i < first + count; ++i) {
      result.push_back(i < exist ? static_cast<int>(i) : llvm::PoisonMaskElem);
    }
    return result;
  };
  llvm::SmallVector<Value*> results;
  for (unsigned first = 0; first < lanes; first += width) {
    llvm::SmallVector<Value*> parts;
    for (Value* vector : vectors) parts.push_back(b.CreateShuffleVector(vector, numbers(first, width, lanes)));
    results.push_back(emit(parts));
  }
  return b.CreateShuffleVector(llvm::concatenateVectors(b, results), numbers(0, lanes, lanes));
}

Value* scale_avx512(llvm::IRBuilderBase& b, Value* x, Value* n) {
  return by_registers(b, {x, n}, [&](llvm::ArrayRef<Value*> args) {
    Value* none = llvm::PoisonValue::get(args[0]->getType());
    return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                             {args[0], args[1], none, b.getInt16(0xffff), b.getInt32(kCurrentRounding)});
  });
}

/// One instruction that knows the signs of zeros.
Value* extreme_avx512(llvm::IRBuilderBase& b, bool larger, Value* x, Value* y) {
  return by_registers(b, {x, y}, [&](llvm::ArrayRef<Value*> args) -> Value* {
    constexpr unsigned kSmaller = 0b0100;
    constexpr unsigned kLarger = 0b0101;
    const bool is_float = args[0]->getType()->getScalarType()->isFloatTy();
    Value* none = llvm::PoisonValue::get(args[0]->getType());
    Value* all = is_float ? b.getInt16(0xffff) : b.getInt8(0xff);
    return b.CreateIntrinsic(
        is_float ? llvm::Intrinsic::x86_avx512_mask_range_ps_512 : llvm::Intrinsic::x86_avx512_mask_range_pd_512, {},
        {args[0], args[1], b.getInt32(larger ? kLarger : kSmaller), none, all, b.getInt32(kCurrentRounding)});
  });
}

void fence_x86(llvm::IRBuilderBase& b) { b.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {}); }

}  // namespace

codegen::TargetHooks hooks_of(Isa isa) {
  codegen::TargetHooks hooks{.loop_symbol = loop_symbol};
  if (isa != Isa::neon) hooks.finish_streams = fence_x86;
  if (isa == Isa::avx512) {
    hooks.scale = scale_avx512;
    hooks.extreme = extreme_avx512;
  }
  return hooks;
}

}  // namespace lento::cpu

#include "backends/cpu/math/avx512.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>

#include <algorithm>

namespace lento::cpu {
namespace {

constexpr const char* kAttribute = "lento-avx512";
constexpr unsigned kRegisterBits = 512;

}  // namespace

void mark_avx512(llvm::Function& function) { function.addFnAttr(kAttribute); }

bool for_avx512(const llvm::IRBuilderBase& builder) {
  return builder.GetInsertBlock()->getParent()->hasFnAttribute(kAttribute);
}

llvm::Value* by_registers(llvm::IRBuilderBase& b, llvm::ArrayRef<llvm::Value*> vectors,
                          llvm::function_ref<llvm::Value*(llvm::ArrayRef<llvm::Value*>)> emit) {
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
  llvm::SmallVector<llvm::Value*> results;
  for (unsigned first = 0; first < lanes; first += width) {
    llvm::SmallVector<llvm::Value*> parts;
    for (llvm::Value* vector : vectors) parts.push_back(b.CreateShuffleVector(vector, numbers(first, width, lanes)));
    results.push_back(emit(parts));
  }
  return b.CreateShuffleVector(llvm::concatenateVectors(b, results), numbers(0, lanes, lanes));
}

}  // namespace lento::cpu

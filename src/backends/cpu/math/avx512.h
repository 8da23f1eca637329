// Instructions of AVX-512 that LLVM has no name of its own for. They are used where they give the same bits as what
// other processors do instead.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLFunctionalExtras.h>

namespace llvm {
class Function;
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace lento::cpu {

/// Says that a function is for processors with AVX-512.
void mark_avx512(llvm::Function& function);
/// Whether the builder stands in such a function.
bool for_avx512(const llvm::IRBuilderBase& builder);

/// Calls `emit` with the parts of vectors, which have one type, that fit into registers of 512 bits, filled up if need
/// be, and puts its results together.
llvm::Value* by_registers(llvm::IRBuilderBase& builder, llvm::ArrayRef<llvm::Value*> vectors,
                          llvm::function_ref<llvm::Value*(llvm::ArrayRef<llvm::Value*>)> emit);

}  // namespace lento::cpu

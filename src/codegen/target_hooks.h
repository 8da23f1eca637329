// What one target adds to the code that is made for all of them.
#pragma once

#include <lento/dtype.h>

#include "ir/op_number.h"

#include <string>

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace lento::codegen {

/// Instructions that LLVM has no name of its own for, and functions that a process can call. All of them may be null: a
/// target without hooks gets code that every target understands. The bits are the same with and without.
struct TargetHooks {
  /// x * 2^n for vectors of float, rounded once. n is a whole number, however large, an infinity or nan.
  llvm::Value* (*scale)(llvm::IRBuilderBase& builder, llvm::Value* x, llvm::Value* n) = nullptr;

  /// The larger (or the smaller) of each two lanes, of vectors of float or double without nans. -0 is below 0.
  llvm::Value* (*extreme)(llvm::IRBuilderBase& builder, bool larger, llvm::Value* a, llvm::Value* b) = nullptr;

  /// Orders stores past the caches before those that come later. Without it, code makes no such stores.
  void (*finish_streams)(llvm::IRBuilderBase& builder) = nullptr;

  /// The name of a function that computes an elementwise op for which there is no code:
  /// void(int64 count, void* out, const void* const* operands, const int64* strides), strides in elements.
  std::string (*loop_symbol)(Op op, DType dtype) = nullptr;
};

}  // namespace lento::codegen

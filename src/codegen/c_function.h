// LLVM code printed as C, for compilers of devices that take source: one statement an instruction, with the same bits.
#pragma once

#include <string>

namespace llvm {
class Function;
class GlobalVariable;
}  // namespace llvm

namespace lento::codegen {

/// `function` as a C99 function. It works on scalars, has no calls but those of mathematical intrinsics, and no loops:
/// a branch only leaves something out. What C99 has no operator for is a macro of c_source.h. Throws BackendError for
/// anything else.
std::string c_function(const llvm::Function& function);

/// A constant array of doubles.
std::string c_table(const llvm::GlobalVariable& table);

}  // namespace lento::codegen

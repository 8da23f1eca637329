// Vector math for generated code: each elementary function becomes a few dozen instructions at the place where it is
// used, so that kernels need no calls and a value never leaves its register.
//
// Promised for float32 and float64: at most 2 ulp from the true value on the whole domain; nan, infinities, signed
// zeros, subnormal arguments and results and the points of overflow as C's functions have them. The bits depend on
// neither the vector width nor the processor: there are no approximate instructions, an fma is an explicit llvm.fma,
// and nothing may be contracted or reassociated. logaddexp keeps to 2 ulp of its larger argument where its result
// cancels.
//
//   math.cpp                which function serves which op
//   values.h                vectors with operators, sums of two
//   functions.h             the functions, by file
//   exp.cpp, log.cpp, trig.cpp, angle.cpp, inverse.cpp, erf.cpp, float.cpp
//   polynomials.h, two_over_pi.h    made by tools/minimax
#pragma once

#include "codegen/target_hooks.h"
#include "ir/op_number.h"

namespace llvm {
class IRBuilderBase;
class Value;
template <typename T>
class ArrayRef;
}  // namespace llvm

namespace lento::codegen {

/// True when emit_math has code for `op` on floats.
bool has_math(Op op);

/// Emits `op` of `args`, which have one type: float, double, or a fixed vector of them. Returns the result, or nullptr
/// and nothing emitted when there is no code for this op and element type.
///
/// `hooks` are of the target that the code is for; on vectors they save instructions.
///
/// sin, cos and tan reduce large angles behind a branch, so the builder may be in another block afterwards. The
/// builder must stand at the end of a block without terminator, or anywhere in a block that has one.
llvm::Value* emit_math(llvm::IRBuilderBase& builder, Op op, llvm::ArrayRef<llvm::Value*> args,
                       const TargetHooks& hooks = {});

}  // namespace lento::codegen

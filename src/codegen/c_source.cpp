#include "codegen/c_source.h"

#include "base/fail.h"
#include "codegen/c_function.h"
#include "codegen/math/math.h"
#include "ir/op.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace lento::codegen {
namespace {

constexpr std::string_view kPrimitives =
    R"(/* Elementary functions of Lento, printed from its vector math. The bits are those of its generated code where
 *   - nothing is contracted: -ffp-contract=off, or #pragma OPENCL FP_CONTRACT OFF
 *   - division and square root are rounded correctly: in OpenCL -cl-fp32-correctly-rounded-divide-sqrt
 *   - results are rounded to nearest, subnormal numbers are kept, and no flag allows anything faster.
 * A compiler that knows neither C99 nor OpenCL C has what follows defined before, and LENTO_PRIMITIVES. */
#ifndef LENTO_PRIMITIVES
#define LENTO_PRIMITIVES
#ifdef __OPENCL_C_VERSION__
typedef int lento_s32;
typedef uint lento_u32;
typedef long lento_s64;
typedef ulong lento_u64;
#define LENTO_TABLE __constant
#define LENTO_TO_BITS_F32(x) as_uint(x)
#define LENTO_TO_BITS_F64(x) as_ulong(x)
#define LENTO_FROM_BITS_F32(bits) as_float((uint)(bits))
#define LENTO_FROM_BITS_F64(bits) as_double((ulong)(bits))
#define LENTO_FMA_F32(a, b, c) fma(a, b, c)
#define LENTO_FABS_F32(x) fabs(x)
#define LENTO_SQRT_F32(x) sqrt(x)
#define LENTO_TRUNC_F32(x) trunc(x)
#define LENTO_RINT_F32(x) rint(x)
#define LENTO_COPYSIGN_F32(x, sign) copysign(x, sign)
#else
#include <math.h>
#include <stdint.h>
#include <string.h>
typedef int32_t lento_s32;
typedef uint32_t lento_u32;
typedef int64_t lento_s64;
typedef uint64_t lento_u64;
static inline lento_u32 lento_to_bits_f32(float x) { lento_u32 bits; memcpy(&bits, &x, sizeof(x)); return bits; }
static inline lento_u64 lento_to_bits_f64(double x) { lento_u64 bits; memcpy(&bits, &x, sizeof(x)); return bits; }
static inline float lento_from_bits_f32(lento_u32 bits) { float x; memcpy(&x, &bits, sizeof(x)); return x; }
static inline double lento_from_bits_f64(lento_u64 bits) { double x; memcpy(&x, &bits, sizeof(x)); return x; }
#define LENTO_TABLE static const
#define LENTO_TO_BITS_F32(x) lento_to_bits_f32(x)
#define LENTO_TO_BITS_F64(x) lento_to_bits_f64(x)
#define LENTO_FROM_BITS_F32(bits) lento_from_bits_f32(bits)
#define LENTO_FROM_BITS_F64(bits) lento_from_bits_f64(bits)
#define LENTO_FMA_F32(a, b, c) fmaf(a, b, c)
#define LENTO_FABS_F32(x) fabsf(x)
#define LENTO_SQRT_F32(x) sqrtf(x)
#define LENTO_TRUNC_F32(x) truncf(x)
#define LENTO_RINT_F32(x) rintf(x)
#define LENTO_COPYSIGN_F32(x, sign) copysignf(x, sign)
#endif
#define LENTO_FMA_F64(a, b, c) fma(a, b, c)
#define LENTO_FABS_F64(x) fabs(x)
#define LENTO_SQRT_F64(x) sqrt(x)
#define LENTO_TRUNC_F64(x) trunc(x)
#define LENTO_RINT_F64(x) rint(x)
#define LENTO_COPYSIGN_F64(x, sign) copysign(x, sign)
#endif
)";

/// Takes out what nothing uses, which C compilers would warn of.
void drop_unused(llvm::Function& function) {
  for (llvm::BasicBlock& block : llvm::reverse(function)) {
    for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (i.use_empty() && !i.isTerminator() && !i.mayHaveSideEffects()) i.eraseFromParent();
    }
  }
}

/// Adds the function of scalars to the module.
llvm::Function& emit(llvm::Module& module, const CFunction& wanted) {
  llvm::IRBuilder<> builder(module.getContext());
  llvm::Type* type = wanted.dtype == DType::float32 ? builder.getFloatTy() : builder.getDoubleTy();
  const std::span<const ArgInfo> args = info(wanted.op).args;
  const llvm::SmallVector<llvm::Type*> types(args.size(), type);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(type, types, false), llvm::Function::ExternalLinkage,
                                          wanted.name(), module);
  llvm::SmallVector<llvm::Value*> values;
  for (llvm::Argument& argument : function->args()) {
    argument.setName(std::string(args[argument.getArgNo()].name));
    values.push_back(&argument);
  }
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "start", function));
  builder.CreateRet(emit_math(builder, wanted.op, values));
  drop_unused(*function);
  return *function;
}

}  // namespace

std::string CFunction::name() const {
  return fmt::format("lento_{}_{}", info(op).name, dtype == DType::float32 ? "f32" : "f64");
}

std::vector<CFunction> c_functions() {
  std::vector<CFunction> functions;
  for (const Op op : all_ops()) {
    if (!has_math(op)) continue;
    functions.push_back({op, DType::float32});
    functions.push_back({op, DType::float64});
  }
  return functions;
}

std::string c_source(std::span<const CFunction> functions) {
  llvm::LLVMContext context;
  llvm::Module module("math", context);
  std::string text;
  for (const CFunction& function : functions) {
    if (!has_math(function.op) || (function.dtype != DType::float32 && function.dtype != DType::float64)) {
      fail<ValueError>("c_source: the vector math has no {} of {}", info(function.op).name, name(function.dtype));
    }
    text += "\n" + c_function(emit(module, function));
  }
  std::string tables;
  for (const llvm::GlobalVariable& table : module.globals()) tables += "\n" + c_table(table);
  return std::string(kPrimitives) + tables + text;
}

}  // namespace lento::codegen

#include "codegen/math_code.h"

#include "backends/cpu/code/isa_hooks.h"
#include "codegen/math/math.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <stdexcept>

namespace lento::testing {
namespace {

/// void entry(ptr a, ptr b, ptr out, i64 count)
void build(llvm::Module& module, Op op, int arity, unsigned lanes, bool is_double, const codegen::TargetHooks& hooks) {
  llvm::IRBuilder<> builder(module.getContext());
  llvm::Type* pointer = builder.getPtrTy();
  llvm::Type* element = is_double ? builder.getDoubleTy() : builder.getFloatTy();
  llvm::Type* vector = llvm::FixedVectorType::get(element, lanes);
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), {pointer, pointer, pointer, builder.getInt64Ty()}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "entry", module);
  function->addFnAttr("prefer-vector-width", "512");
  auto* start = llvm::BasicBlock::Create(module.getContext(), "start", function);
  auto* loop = llvm::BasicBlock::Create(module.getContext(), "loop", function);
  auto* end = llvm::BasicBlock::Create(module.getContext(), "end", function);
  builder.SetInsertPoint(start);
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  llvm::PHINode* index = builder.CreatePHI(builder.getInt64Ty(), 2);
  index->addIncoming(builder.getInt64(0), start);
  llvm::SmallVector<llvm::Value*, 2> args;
  for (int i = 0; i < arity; ++i) {
    llvm::Value* address = builder.CreateGEP(element, function->getArg(static_cast<unsigned>(i)), index);
    args.push_back(builder.CreateAlignedLoad(vector, address, llvm::Align(element->getScalarSizeInBits() / 8)));
  }
  // Flags that must not reach the code.
  llvm::FastMathFlags flags;
  flags.setFast();
  builder.setFastMathFlags(flags);
  llvm::Value* result = codegen::emit_math(builder, op, args, hooks);
  if (result == nullptr) throw std::runtime_error("no code for this op");
  builder.CreateAlignedStore(result, builder.CreateGEP(element, function->getArg(2), index),
                             llvm::Align(element->getScalarSizeInBits() / 8));
  llvm::Value* next = builder.CreateAdd(index, builder.getInt64(lanes));
  index->addIncoming(next, builder.GetInsertBlock());
  builder.CreateCondBr(builder.CreateICmpSLT(next, function->getArg(3)), loop, end);
  builder.SetInsertPoint(end);
  builder.CreateRetVoid();
}

}  // namespace

MathCode MathCode::compile_bits(Op op, int arity, unsigned lanes, const std::string& cpu, bool is_double) {
  const bool avx512 = cpu == "x86-64-v4" || (cpu == "host" && has_avx512());
  const codegen::TargetHooks hooks = avx512 ? cpu::hooks_of(cpu::Isa::avx512) : codegen::TargetHooks();
  return MathCode(
      CompiledModule::compile([&](llvm::Module& module) { build(module, op, arity, lanes, is_double, hooks); }, cpu));
}

bool has_avx512() { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"); }

}  // namespace lento::testing

// The function of a kernel. Values are vectors of `lanes` elements along the last dimension; what does not change along
// an inner loop is computed outside of it.
#include "backends/cpu/code/kernel_loops.h"

#include "backends/cpu/code/kernel_body.h"
#include "backends/cpu/code/map_loops.h"
#include "backends/cpu/code/reduce_loops.h"
#include "backends/cpu/code/short_rows.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstddef>
#include <utility>

namespace lento::cpu {

namespace {

/// Everything between the entry of the function and its return; of a kernel that reduces, from a row on.
void write(KernelBody body, llvm::Value* first_row) {
  body.emit_level(Level::call, {});
  if (body.kernel.form == LoopForm::map) {
    MapLoops(std::move(body)).write();
  } else {
    ReduceLoops(std::move(body)).write(first_row);
  }
}

}  // namespace

void generate(llvm::Module& module, const Kernel& kernel, const CodeStyle& style) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  auto* signature = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false);
  auto* function = llvm::Function::Create(signature, llvm::Function::ExternalLinkage, kEntryName, module);
  function->setDoesNotThrow();
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", function));
  llvm::Value* frame = function->getArg(0);
  if (style.narrow_lanes != 0) {
    CodeStyle narrow_style = style;
    narrow_style.lanes = style.narrow_lanes;
    auto* narrow = llvm::BasicBlock::Create(context, "narrow", function);
    auto* wide = llvm::BasicBlock::Create(context, "wide", function);
    llvm::Value* count = builder.CreateAlignedLoad(
        builder.getInt64Ty(), builder.CreateConstGEP1_64(builder.getInt8Ty(), frame, offsetof(CallFrame, count)),
        llvm::Align(8));
    builder.CreateCondBr(builder.CreateICmpSLE(count, builder.getInt64(style.narrow_lanes)), narrow, wide);
    builder.SetInsertPoint(narrow);
    write(KernelBody(builder, kernel, narrow_style, frame), builder.getInt64(0));
    builder.CreateRetVoid();
    builder.SetInsertPoint(wide);
  }
  llvm::Value* first_row = style.short_rows ? write_short_rows(builder, kernel, style, frame) : builder.getInt64(0);
  write(KernelBody(builder, kernel, style, frame), first_row);
  builder.CreateRetVoid();
}

}  // namespace lento::cpu

#include "codegen/compiled_module.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/TargetSelect.h>

#include <stdexcept>

namespace lento::testing {
namespace {

template <class T>
T expect(llvm::Expected<T> value) {
  if (!value) throw std::runtime_error(llvm::toString(value.takeError()));
  return std::move(*value);
}

void expect(llvm::Error error) {
  if (error) throw std::runtime_error(llvm::toString(std::move(error)));
}

}  // namespace

struct CompiledModule::Engine {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

CompiledModule::CompiledModule(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
CompiledModule::~CompiledModule() = default;
CompiledModule::CompiledModule(CompiledModule&&) noexcept = default;
CompiledModule& CompiledModule::operator=(CompiledModule&&) noexcept = default;

CompiledModule CompiledModule::compile(const std::function<void(llvm::Module&)>& build, const std::string& cpu) {
  static const bool once = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  static_cast<void>(once);
  auto target = expect(llvm::orc::JITTargetMachineBuilder::detectHost());
  if (cpu != "host") {
    target.setCPU(cpu);
    target.getFeatures() = llvm::SubtargetFeatures();
  }
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("test", *context);
  build(*module);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (llvm::verifyModule(*module, &stream)) throw std::runtime_error(text);
  auto engine = std::make_unique<Engine>();
  engine->jit = expect(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(target).create());
  module->setDataLayout(engine->jit->getDataLayout());
  expect(engine->jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
  return CompiledModule(std::move(engine));
}

void* CompiledModule::address(const std::string& name) const {
  return expect(engine_->jit->lookup(name)).toPtr<void*>();
}

}  // namespace lento::testing

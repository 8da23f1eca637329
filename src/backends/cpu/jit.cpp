// Compiling with LLVM and loading what comes out. Each call has a context and a target machine of its own.
#include "backends/cpu/jit.h"

#include "backends/cpu/codegen.h"
#include "backends/cpu/loop_symbols.h"
#include "base/fail.h"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/ExecutionEngine/SectionMemoryManager.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar.h>

#include <algorithm>

namespace lento::cpu {

namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

CodeStyle style_of(const Kernel& kernel, Tier tier, Isa isa) {
  CodeStyle style;
  // A register of float32, and two where columns are walked down, so that each step reads whole lines of the cache.
  style.lanes = (isa == Isa::avx512 ? 16U : 8U) * (kernel.form == LoopForm::column ? 2U : 1U);
  // AVX-512 has masks at next to no cost, AVX2 has them for some element sizes and slowly.
  style.compact = tier == Tier::zero && isa == Isa::avx512;
  return style;
}

const llvm::Target& native_target() {
  static const llvm::Target* const target = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    std::string message;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(kTriple, message);
    if (found == nullptr) fail<BackendError>("cpu: LLVM has no code generator for this processor: {}", message);
    return found;
  }();
  return *target;
}

// A level rather than this very processor: object code is kept, and machines that share it differ.
const char* processor_of(Isa isa) { return isa == Isa::avx512 ? "x86-64-v4" : "x86-64-v3"; }
const char* features_of(Isa isa) { return isa == Isa::avx512 ? "-prefer-256-bit" : ""; }

std::unique_ptr<llvm::TargetMachine> make_machine(Tier tier, Isa isa) {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // the same bits, fused into one kernel or not
  const auto level = tier == Tier::zero ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default;
  std::unique_ptr<llvm::TargetMachine> machine(
      native_target().createTargetMachine(kTriple, processor_of(isa), features_of(isa), options, llvm::Reloc::PIC_,
                                          llvm::CodeModel::Small, level, /*JIT=*/true));
  if (machine == nullptr) fail<BackendError>("cpu: LLVM cannot generate code for {}", processor_of(isa));
  return machine;
}

/// A module with the kernel's function, and all it lives in.
struct Compilation {
  llvm::LLVMContext context;
  llvm::Module module{"kernel", context};

  Compilation(const Kernel& kernel, Tier tier, Isa isa) { generate(module, kernel, style_of(kernel, tier, isa)); }

  void emit(Tier tier, Isa isa, llvm::CodeGenFileType type, llvm::raw_pwrite_stream& out) {
    const std::unique_ptr<llvm::TargetMachine> machine = make_machine(tier, isa);
    module.setDataLayout(machine->createDataLayout());
    module.setTargetTriple(kTriple);
    llvm::legacy::PassManager passes;
    if (tier == Tier::one) {
      // Without it the first pass that asks makes one that knows of no masked loads and stores.
      passes.add(llvm::createTargetTransformInfoWrapperPass(machine->getTargetIRAnalysis()));
      passes.add(llvm::createEarlyCSEPass());
      passes.add(llvm::createInstructionCombiningPass());
      passes.add(llvm::createCFGSimplificationPass());
    }
    // Whatever the verifier of machine code would find is our bug and not worth its time in every compile.
    if (machine->addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true)) {
      fail<BackendError>("cpu: LLVM cannot write this kind of file");
    }
    passes.run(module);
  }
};

/// Finds what object code refers to, among the functions of this library alone.
class Resolver final : public llvm::LegacyJITSymbolResolver {
 public:
  llvm::JITSymbol findSymbol(const std::string& name) override {
    return llvm::JITSymbol(reinterpret_cast<std::uintptr_t>(find_symbol(name)), llvm::JITSymbolFlags::Exported);
  }
  llvm::JITSymbol findSymbolInLogicalDylib(const std::string&) override { return nullptr; }
};

/// Counts what it hands out.
class Memory final : public llvm::SectionMemoryManager {
 public:
  std::size_t bytes = 0;
  std::uint8_t* allocateCodeSection(std::uintptr_t size, unsigned alignment, unsigned id,
                                    llvm::StringRef name) override {
    bytes += size;
    return SectionMemoryManager::allocateCodeSection(size, alignment, id, name);
  }
  std::uint8_t* allocateDataSection(std::uintptr_t size, unsigned alignment, unsigned id, llvm::StringRef name,
                                    bool read_only) override {
    bytes += size;
    return SectionMemoryManager::allocateDataSection(size, alignment, id, name, read_only);
  }
};

}  // namespace

Isa host_isa() {
  if (__builtin_cpu_supports("x86-64-v4")) return Isa::avx512;
  if (__builtin_cpu_supports("x86-64-v3")) return Isa::avx2;
  fail<BackendError>("cpu: this processor has no AVX2, which generated code needs");
}

struct KernelCode::Loaded {
  LoopForm form = LoopForm::map;
  std::size_t dims = 0;
  std::vector<std::int64_t> element_bytes;  // one an operand
  Memory memory;
  void (*entry)(const CallFrame*) = nullptr;
};

KernelCode::KernelCode(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
KernelCode::~KernelCode() = default;

std::size_t KernelCode::code_bytes() const { return loaded_->memory.bytes; }

void KernelCode::run(const KernelArguments& arguments, const KernelRange& range) const {
  const Loaded& code = *loaded_;
  const std::size_t dims = code.dims;
  const std::size_t operands = code.element_bytes.size();
  const std::size_t inside = code.form == LoopForm::column ? 2 : 1;
  const std::size_t outer = dims - inside;
  std::int64_t left = range.end - range.begin;
  CallFrame frame{};
  std::int64_t inner_begin = 0;
  frame.count = arguments.sizes[dims - 1];
  if (code.form != LoopForm::row) {
    inner_begin = range.inner_begin;
    frame.count = range.inner_end - range.inner_begin;
    if (frame.count <= 0) return;
  }
  if (left <= 0) return;
  frame.reduced = code.form == LoopForm::column ? arguments.sizes[dims - 2] : 0;
  frame.numbers = static_cast<const std::byte*>(arguments.numbers);

  // Strides and addresses; a body of kMaxKernelBody instructions can use no more operands than that.
  std::byte* addresses[kMaxKernelBody];
  std::int64_t strides[3][kMaxKernelBody];
  frame.addresses = addresses;
  frame.row_strides = strides[0];
  frame.inner_strides = strides[1];
  frame.reduced_strides = strides[2];
  const auto stride = [&](std::size_t operand, std::size_t dimension) {
    return arguments.strides[operand * dims + dimension] * code.element_bytes[operand];
  };
  for (std::size_t j = 0; j < operands; ++j) {
    strides[0][j] = outer > 0 ? stride(j, outer - 1) : 0;
    strides[1][j] = stride(j, dims - 1);
    strides[2][j] = inside == 2 ? stride(j, dims - 2) : 0;
    addresses[j] = static_cast<std::byte*>(arguments.addresses[j]) + inner_begin * strides[1][j];
  }

  // The position in the outer dimensions where the range begins.
  std::int64_t position[kMaxKernelDims] = {};
  std::int64_t rest = range.begin;
  for (std::size_t d = outer; d-- > 0;) {
    position[d] = rest % arguments.sizes[d];
    rest /= arguments.sizes[d];
    for (std::size_t j = 0; j < operands; ++j) addresses[j] += position[d] * stride(j, d);
  }
  if (outer == 0) {
    frame.rows = 1;
    code.entry(&frame);
    return;
  }
  const std::size_t last = outer - 1;
  while (true) {
    frame.rows = std::min(left, arguments.sizes[last] - position[last]);
    code.entry(&frame);
    left -= frame.rows;
    if (left == 0) return;
    // On to the next row of rows: back to the start of the last dimension, and one further in those before it.
    for (std::size_t j = 0; j < operands; ++j) addresses[j] -= position[last] * strides[0][j];
    position[last] = 0;
    for (std::size_t d = last; d-- > 0;) {
      const bool carry = ++position[d] == arguments.sizes[d];
      const std::int64_t moved = carry ? 1 - arguments.sizes[d] : 1;
      for (std::size_t j = 0; j < operands; ++j) addresses[j] += moved * stride(j, d);
      if (!carry) break;
      position[d] = 0;
    }
  }
}

std::vector<std::byte> compile_object(const Kernel& kernel, Tier tier, Isa isa) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  Compilation(kernel, tier, isa).emit(tier, isa, llvm::CodeGenFileType::ObjectFile, out);
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  return std::vector<std::byte>(begin, begin + bytes.size());
}

std::shared_ptr<const KernelCode> load_object(const Kernel& kernel, const std::vector<std::byte>& object) {
  native_target();
  auto loaded = std::make_unique<KernelCode::Loaded>();
  loaded->form = kernel.form;
  loaded->dims = kernel.dims;
  for (const KernelOperandInfo& operand : kernel.operands) {
    loaded->element_bytes.push_back(static_cast<std::int64_t>(size_of(operand.dtype)));
  }
  const llvm::MemoryBufferRef buffer(llvm::StringRef(reinterpret_cast<const char*>(object.data()), object.size()),
                                     "kernel");
  auto file = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!file) fail<BackendError>("cpu: object code is damaged: {}", llvm::toString(file.takeError()));
  Resolver resolver;
  llvm::RuntimeDyld linker(loaded->memory, resolver);
  linker.loadObject(**file);
  linker.resolveRelocations();
  const std::uint64_t entry = linker.getSymbol(kEntryName).getAddress();
  if (linker.hasError()) fail<BackendError>("cpu: object code does not load: {}", linker.getErrorString().str());
  if (entry == 0) fail<BackendError>("cpu: object code has no kernel in it");
  std::string message;
  if (loaded->memory.finalizeMemory(&message)) fail<BackendError>("cpu: no memory for code: {}", message);
  loaded->entry = reinterpret_cast<void (*)(const CallFrame*)>(entry);
  return std::shared_ptr<const KernelCode>(new KernelCode(std::move(loaded)));
}

std::shared_ptr<const KernelCode> compile_kernel(const Kernel& kernel, Tier tier, Isa isa) {
  return load_object(kernel, compile_object(kernel, tier, isa));
}

std::string code_target(Isa isa) {
  return fmt::format("LLVM {} {} {} {}", LLVM_VERSION_STRING, kTriple, processor_of(isa), features_of(isa));
}

std::string llvm_text(const Kernel& kernel, Tier tier, Isa isa) {
  std::string text;
  llvm::raw_string_ostream out(text);
  Compilation(kernel, tier, isa).module.print(out, nullptr);
  return text;
}

std::string assembly_text(const Kernel& kernel, Tier tier, Isa isa) {
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream out(text);
  Compilation(kernel, tier, isa).emit(tier, isa, llvm::CodeGenFileType::AssemblyFile, out);
  return std::string(text.begin(), text.end());
}

}  // namespace lento::cpu

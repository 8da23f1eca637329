// Compiling with LLVM and loading what comes out. Each call has a context and a target machine of its own.
#include "backends/cpu/code/jit.h"

#include "backends/cpu/code/code_memory.h"
#include "backends/cpu/code/isa_hooks.h"
#include "backends/cpu/code/kernel_calls.h"
#include "backends/cpu/code/kernel_loops.h"
#include "backends/cpu/code/link_object.h"
#include "backends/cpu/code/short_rows.h"
#include "base/address_space.h"
#include "base/fail.h"
#include "codegen/emitter.h"
#include "codegen/math/math.h"
#include "ir/op_elementwise.gen.h"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Utils.h>

#include <algorithm>
#include <cstdint>
#include <new>

namespace lento::cpu {

namespace {

const char* triple_of(Isa isa) { return isa == Isa::neon ? "aarch64-unknown-linux-gnu" : "x86_64-unknown-linux-gnu"; }

/// Ops whose result takes tens of cycles.
bool is_slow(const Instruction& i) {
  return i.kind == Instruction::Kind::compute && is_floating(i.dtype) &&
         (codegen::has_math(i.op) || i.op == op::divide || i.op == op::sqrt);
}

/// Copying a tile costs less than gathering its elements where the element is not much work itself.
bool wants_tiles(const Kernel& kernel) {
  constexpr std::size_t kMostInstructions = 16;
  constexpr std::int64_t kMostTiles = 3;
  if (kernel.dims < 2 || kernel.body.size() > kMostInstructions) return false;
  const auto crossed = [](const KernelOperandInfo& operand) {
    return !operand.output && !operand.counted && operand.inner == InnerStride::any;
  };
  const auto tiles = std::count_if(kernel.operands.begin(), kernel.operands.end(), crossed);
  return tiles > 0 && tiles <= kMostTiles &&
         std::none_of(kernel.operands.begin(), kernel.operands.end(), [&](const KernelOperandInfo& operand) {
           return crossed(operand) && operand.dtype == DType::complex128;
         });
}

constexpr unsigned kWideColumns = 64;

/// Rows of a matrix lie far apart, in pages of their own: the more columns are read of each at once, the better. But
/// the lanes of all of them are to stay in the first cache, and values in registers.
bool wants_wide_columns(const Kernel& kernel) {
  constexpr std::size_t kMostInstructions = 6;
  constexpr std::size_t kMostBytes = 4;
  return kernel.form == LoopForm::column && kernel.body.size() <= kMostInstructions &&
         std::none_of(kernel.body.begin(), kernel.body.end(), [](const Instruction& i) {
           return is_slow(i) || i.kind == Instruction::Kind::create || size_of(i.dtype) > kMostBytes ||
                  (i.kind == Instruction::Kind::reduce && codegen::finds_position(i.op));
         });
}

CodeStyle style_of(const Kernel& kernel, Tier tier, Isa isa) {
  const bool careful = tier == Tier::one;
  const bool map = kernel.form == LoopForm::map;
  CodeStyle style;
  style.hooks = hooks_of(isa);
  style.careful = careful;
  // AVX-512 has masks at next to no cost, AVX2 has them for some element sizes and slowly.
  style.compact = !careful && isa == Isa::avx512;
  style.tiles = careful && map && wants_tiles(kernel);
  style.stages = careful && map && !style.tiles;
  style.groups = careful && kernel.form == LoopForm::row;
  style.short_rows = careful && has_short_rows(kernel);
  style.stream = careful && map && style.hooks.finish_streams != nullptr &&
                 std::all_of(kernel.operands.begin(), kernel.operands.end(), [](const KernelOperandInfo& operand) {
                   return !operand.output || operand.inner == InnerStride::one;
                 });
  // A register of float32, and two where columns are walked down, so that each step reads whole lines of the cache, and
  // where there is much waiting for results, so that there is something to do meanwhile.
  const unsigned lanes = isa == Isa::avx512 ? 16U : 8U;
  const bool waits = careful && map && !style.tiles && std::any_of(kernel.body.begin(), kernel.body.end(), is_slow);
  style.lanes = lanes * (kernel.form == LoopForm::column || waits ? 2U : 1U);
  if (careful && wants_wide_columns(kernel)) {
    style.narrow_lanes = style.lanes;
    style.lanes = kWideColumns;
  }
  return style;
}

constexpr std::size_t kRoomToCompile = std::size_t{32} << 20;

const llvm::Target& target_of(Isa isa) {
  static const bool initialized = [] {
    // LLVM ends the process when malloc fails; a program may go on without this step.
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialized;
  std::string message;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple_of(isa), message);
  if (found == nullptr) fail<BackendError>("cpu: LLVM has no code generator for {}: {}", triple_of(isa), message);
  return *found;
}

/// A level rather than this very processor: object code is kept, and machines that share it differ.
const char* processor_of(Isa isa) {
  switch (isa) {
    case Isa::avx2:
      return "x86-64-v3";
    case Isa::avx512:
      return "x86-64-v4";
    case Isa::neon:
      return "generic";
  }
  return "";
}

const char* features_of(Isa isa) { return isa == Isa::avx512 ? "-prefer-256-bit" : ""; }

std::unique_ptr<llvm::TargetMachine> make_machine(Tier tier, Isa isa) {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // the same bits, fused into one kernel or not
  const auto level = tier == Tier::zero ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default;
  std::unique_ptr<llvm::TargetMachine> machine(
      target_of(isa).createTargetMachine(triple_of(isa), processor_of(isa), features_of(isa), options,
                                         llvm::Reloc::PIC_, llvm::CodeModel::Small, level, /*JIT=*/true));
  if (machine == nullptr) fail<BackendError>("cpu: LLVM cannot generate code for {}", processor_of(isa));
  return machine;
}

/// A module of LLVM with the kernel's function, and all it lives in.
struct KernelModule {
  llvm::LLVMContext context;
  llvm::Module module{"kernel", context};

  KernelModule(const Kernel& kernel, Tier tier, Isa isa) { generate(module, kernel, style_of(kernel, tier, isa)); }

  void emit(Tier tier, Isa isa, llvm::CodeGenFileType type, llvm::raw_pwrite_stream& out) {
    const std::unique_ptr<llvm::TargetMachine> machine = make_machine(tier, isa);
    module.setDataLayout(machine->createDataLayout());
    module.setTargetTriple(triple_of(isa));
    llvm::legacy::PassManager passes;
    if (tier == Tier::one) {
      // Without it the first pass that asks makes one that knows of no masked loads and stores.
      passes.add(llvm::createTargetTransformInfoWrapperPass(machine->getTargetIRAnalysis()));
      passes.add(llvm::createPromoteMemoryToRegisterPass());
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

}  // namespace

Isa host_isa() {
  if (__builtin_cpu_supports("x86-64-v4")) return Isa::avx512;
  if (__builtin_cpu_supports("x86-64-v3")) return Isa::avx2;
  fail<BackendError>("cpu: this processor has no AVX2, which generated code needs");
}

struct KernelCode::Loaded {
  Loaded(const Kernel& kernel, LinkedCode code)
      : memory(std::move(code.memory)),
        calls(kernel, reinterpret_cast<KernelFunction>(reinterpret_cast<std::uintptr_t>(code.entry))) {}

  std::unique_ptr<CodeMemory> memory;
  KernelCalls calls;
};

KernelCode::KernelCode(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
KernelCode::~KernelCode() = default;

std::size_t KernelCode::code_bytes() const { return loaded_->memory->bytes(); }

void KernelCode::run(const KernelArguments& arguments, const KernelRange& range, bool stream) const {
  loaded_->calls.run(arguments, range, stream);
}

void KernelCode::run_part(const KernelArguments& arguments, const KernelPart& part) const {
  loaded_->calls.run_part(arguments, part);
}

std::vector<std::byte> compile_object(const Kernel& kernel, Tier tier, Isa isa) {
  // LLVM is not made to go on where there is no memory: what it needs for a large kernel is there before it begins.
  require_address_space(kRoomToCompile);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  KernelModule(kernel, tier, isa).emit(tier, isa, llvm::CodeGenFileType::ObjectFile, out);
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  return std::vector<std::byte>(begin, begin + bytes.size());
}

std::shared_ptr<const KernelCode> load_object(const Kernel& kernel, std::span<const std::byte> object) {
  target_of(host_isa());
  auto loaded = std::make_unique<KernelCode::Loaded>(kernel, link_object(object));
  return std::shared_ptr<const KernelCode>(new KernelCode(std::move(loaded)));
}

std::shared_ptr<const KernelCode> compile_kernel(const Kernel& kernel, Tier tier, Isa isa) {
  return load_object(kernel, compile_object(kernel, tier, isa));
}

std::string code_target(Isa isa) {
  return fmt::format("LLVM {} {} {} {}", LLVM_VERSION_STRING, triple_of(isa), processor_of(isa), features_of(isa));
}

std::string llvm_text(const Kernel& kernel, Tier tier, Isa isa) {
  std::string text;
  llvm::raw_string_ostream out(text);
  KernelModule(kernel, tier, isa).module.print(out, nullptr);
  return text;
}

std::string assembly_text(const Kernel& kernel, Tier tier, Isa isa) {
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream out(text);
  KernelModule(kernel, tier, isa).emit(tier, isa, llvm::CodeGenFileType::AssemblyFile, out);
  return std::string(text.begin(), text.end());
}

}  // namespace lento::cpu

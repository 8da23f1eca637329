// From a kernel to machine code: object code in memory, which may be kept, and from it code that runs.
#pragma once

#include "backend/code_cache.h"
#include "backends/cpu/code/kernel_calls.h"
#include "compiler/kernel.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lento::cpu {

using lento::Tier;

/// The instruction set that code is for; it decides how long vectors are, and not one bit of a result.
enum class Isa : std::uint8_t {
  avx2,    // x86-64-v3
  avx512,  // x86-64-v4
  neon,    // aarch64: objects only, by programs that have initialized LLVM's code generator for it
};

/// The best this processor has. Throws BackendError when it has not even AVX2.
Isa host_isa();

/// Whether kernels may have this elementwise op computed in `dtype`, or this reduction over elements of it. Refused are
/// products of complex numbers along a dimension; every elementwise op in every dtype it is defined for is taken, and
/// so is every cast.
bool supports(Op op, DType dtype);
/// Whether every instruction is supported.
bool can_generate(const Kernel& kernel);

class KernelCode final : public LoadedCode {
 public:
  ~KernelCode() override;
  KernelCode(const KernelCode&) = delete;
  KernelCode& operator=(const KernelCode&) = delete;

  /// Does the points of `range`. Addresses may be anything when there are none. With `stream`, what a map writes need
  /// not stay in the caches.
  void run(const KernelArguments& arguments, const KernelRange& range, bool stream = false) const;
  void run_part(const KernelArguments& arguments, const KernelPart& part) const;
  /// Whole pages.
  std::size_t code_bytes() const override;

 private:
  friend std::shared_ptr<const KernelCode> load_object(const Kernel& kernel, std::span<const std::byte> object);
  struct Loaded;
  explicit KernelCode(std::unique_ptr<Loaded> loaded);
  std::unique_ptr<Loaded> loaded_;
};

/// The object code (ELF) of a kernel for which can_generate() holds; it holds no addresses of this process.
/// Thread-safe.
std::vector<std::byte> compile_object(const Kernel& kernel, Tier tier, Isa isa = host_isa());
/// The code of an object that compile_object made for this kernel. Throws BackendError when it is damaged, or when
/// there is no memory for code (code_memory.h).
std::shared_ptr<const KernelCode> load_object(const Kernel& kernel, std::span<const std::byte> object);
/// Both.
std::shared_ptr<const KernelCode> compile_kernel(const Kernel& kernel, Tier tier, Isa isa = host_isa());

/// Everything but the kernel and the tier that decides object code: version of LLVM, processor, features. The code runs
/// on every processor that has the instruction set.
std::string code_target(Isa isa);

/// What the cache of this device's code is made with: objects for this processor.
CodeMakerRef code_maker();
/// The kernels of this device that have code.
CodeCache& kernel_cache();

/// For people: the LLVM code before any pass, and the assembly.
std::string llvm_text(const Kernel& kernel, Tier tier, Isa isa = host_isa());
std::string assembly_text(const Kernel& kernel, Tier tier, Isa isa = host_isa());

}  // namespace lento::cpu

// The object code of kernels on disk.
#pragma once

#include "backends/cpu/code/jit.h"
#include "compiler/kernel.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace lento::cpu {

/// Everything that decides the object code, byte for byte: the build of Lento, what code_target() says, tier and
/// kernel. Empty when the build is not known; then nothing is kept.
std::vector<std::byte> kernel_identity(const Kernel& kernel, Tier tier, Isa isa = host_isa());

/// The code that some process kept; null when there is none.
std::shared_ptr<const KernelCode> load_kernel(const Kernel& kernel, Tier tier);
/// As compile_kernel, and keeps the object; a thread of low priority writes it.
std::shared_ptr<const KernelCode> compile_and_keep(const Kernel& kernel, Tier tier);

}  // namespace lento::cpu

// What compiled code is kept under on disk.
#pragma once

#include "compiler/kernel.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace lento {

/// Everything that decides the code of a kernel, byte for byte: the build of Lento, the kernel, and `target`, which is
/// what the device says of itself (CodeMaker::target). Empty when the build is not known; then nothing is kept.
std::vector<std::byte> kernel_identity(const Kernel& kernel, std::string_view target);

}  // namespace lento

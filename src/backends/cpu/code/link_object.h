// From object code (ELF) to code in memory, by LLVM's JITLink.
#pragma once

#include "backends/cpu/code/code_memory.h"

#include <cstddef>
#include <memory>
#include <span>

namespace lento::cpu {

struct LinkedCode {
  std::unique_ptr<CodeMemory> memory;
  const void* entry;  // the function kEntryName
};

/// What the object refers to is found among the functions of this library alone (loop_symbols.h). Throws BackendError
/// when the object is none for this processor or is cut off, and what CodeMemory throws. LLVM believes what stands in a
/// whole one: that nobody has changed it is known from the checksum of what is kept (disk_cache.h).
LinkedCode link_object(std::span<const std::byte> object);

}  // namespace lento::cpu

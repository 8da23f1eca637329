// The loops of a kernel as LLVM code: one function, `void kernel(const CallFrame*)`.
#pragma once

#include "compiler/kernel.h"

#include <cstddef>
#include <cstdint>

namespace llvm {
class Module;
}

namespace lento::cpu {

inline constexpr const char* kEntryName = "lento_kernel";

/// What generated code gets: one of the outer dimensions, its rows, and all that is inside. Strides are in bytes. The
/// walk over the other outer dimensions is KernelCode::run().
struct CallFrame {
  std::byte* const* addresses;          // one an operand: of the first element of the first row
  const std::int64_t* row_strides;      // from one row to the next
  const std::int64_t* inner_strides;    // along the last dimension
  const std::int64_t* reduced_strides;  // along the reduced dimension of a column kernel
  const std::byte* numbers;
  std::int64_t rows;
  std::int64_t count;    // along the last dimension
  std::int64_t reduced;  // along the reduced dimension of a column kernel
};

struct CodeStyle {
  unsigned lanes = 16;   // elements worked on at once: a power of two up to 64
  bool compact = false;  // one loop with a mask, instead of one for whole vectors and a rest: half the code
};

/// Adds the function to an empty module.
void generate(llvm::Module& module, const Kernel& kernel, const CodeStyle& style);

}  // namespace lento::cpu

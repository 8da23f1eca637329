// The loops of a kernel as LLVM code: one function, `void kernel(const CallFrame*)`.
#pragma once

#include "codegen/target_hooks.h"
#include "compiler/kernel.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace llvm {
class Module;
}

namespace lento::cpu {

inline constexpr const char* kEntryName = "lento_kernel";

/// What generated code gets: one of the outer dimensions, its rows, and all that is inside. Strides are in bytes. The
/// walk over the other outer dimensions is KernelCode::run().
struct CallFrame {
  std::byte* const* addresses;          // one per operand: of the first element of the first row
  const std::int64_t* row_strides;      // from one row to the next
  const std::int64_t* inner_strides;    // along the last dimension
  const std::int64_t* reduced_strides;  // along the reduced dimension of a column kernel
  const std::byte* numbers;
  const PickedRows* picked;  // one per operand, if the kernel picks rows
  std::int64_t rows;
  std::int64_t count;   // along the last dimension
  std::int64_t stream;  // 1: what a map writes goes past the caches; outputs and their rows begin at lines of the cache

  // Of kernels that reduce. A call may do some passes only, over a part of the reduced dimension.
  std::int64_t reduced_begin;  // a multiple of kReductionBlock
  std::int64_t reduced_end;
  std::int64_t first_pass;     // passes before it have been done: `results` has what they found
  std::int64_t end_pass;       // passes from here on are for other calls
  std::int64_t store_rows;     // 1: row values are stored
  std::byte* results;          // null when all passes are done over everything, with nothing to keep
  std::int64_t result_stride;  // from one slot of `results` to the next
};

/// A slot of CallFrame::results: what a reduction has found in its part, before it is rounded to 16 bits. arg_max and
/// arg_min have two, the element and behind it the position. A column kernel has one such value a column.
struct ResultSlot {
  std::size_t at = 0;            // the instruction
  DType dtype = DType::float32;  // of the accumulator
  std::uint16_t pass = 0;
  bool position = false;
};
std::vector<ResultSlot> result_slots(const Kernel& kernel);

struct CodeStyle {
  unsigned lanes = 16;        // elements worked on at once: a power of two up to 64
  unsigned narrow_lanes = 0;  // if not 0, as many where there are no more elements than that along the last dimension
  bool careful = false;       // to run often, rather than to be there soon
  bool compact = false;       // one loop with a mask, instead of one for whole vectors and a rest: half the code
  bool stream = false;        // also a loop that writes past the caches
  bool tiles = false;         // also a loop that turns tiles of operands that are walked across their rows
  bool stages = false;        // long bodies are cut into several loops
  bool short_rows = false;    // also loops in which short rows lie side by side in the lanes: short_rows.h
  bool groups = false;        // all lanes of a row's reduction in one turn of its loop, and in registers
  codegen::TargetHooks hooks;
};

/// Adds the function to an empty module.
void generate(llvm::Module& module, const Kernel& kernel, const CodeStyle& style);

}  // namespace lento::cpu

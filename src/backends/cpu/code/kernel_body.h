// KernelBody: the instructions of a kernel as LLVM code, wherever the builder stands, and what all loops around them
// need: the arguments of the call, addresses in the current row, blocks of code. MapLoops, ReduceLoops and SearchLoops
// put the loops around it.
#pragma once

#include "backends/cpu/code/kernel_loops.h"
#include "codegen/emitter.h"
#include "compiler/kernel.h"

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace lento::cpu {

/// How often a value changes.
enum class Level : std::uint8_t {
  call,     // made of numbers alone
  row,      // the same along a row
  element,  // different at every point
};

/// One per instruction.
std::vector<Level> levels(const Kernel& kernel);

/// How code reads or writes an operand along the last dimension.
InnerStride inner_stride(const Kernel& kernel, std::size_t operand);

/// Where code works: a vector of elements along the last dimension.
struct Point {
  llvm::Value* index = nullptr;    // of the first lane, along the last dimension
  llvm::Value* mask = nullptr;     // the lanes that exist; null means all
  llvm::Value* reduced = nullptr;  // the position along the reduced dimension of a column kernel
  bool stream = false;             // stores go past the caches
};

/// The fields of a CallFrame, as values of the function.
struct FrameValues {
  struct Operand {
    llvm::Value* address = nullptr;
    llvm::Value* row_stride = nullptr;
    llvm::Value* inner_stride = nullptr;    // null unless it may be anything
    llvm::Value* lane_offsets = nullptr;    // likewise: of a vector's elements
    llvm::Value* reduced_stride = nullptr;  // null unless it moves along the reduced dimension of a column kernel
    llvm::Value* picked_stride = nullptr;   // in bytes; null unless rows are picked
    llvm::Value* picked_extent = nullptr;
  };
  std::vector<Operand> operands;
  llvm::Value* numbers = nullptr;
  llvm::Value* rows = nullptr;
  llvm::Value* count = nullptr;
  llvm::Value* stream = nullptr;  // a bool; null when the code has no such loop
  // Of kernels that reduce.
  llvm::Value* reduced_begin = nullptr;
  llvm::Value* reduced_end = nullptr;
  llvm::Value* has_blocks = nullptr;  // a bool: more than one to reduce
  llvm::Value* first_pass = nullptr;
  llvm::Value* end_pass = nullptr;
  llvm::Value* store_rows = nullptr;  // a bool
  llvm::Value* results = nullptr;
  llvm::Value* result_stride = nullptr;
};

struct KernelBody {
  /// Reads the frame. `builder` stands in the entry block of the function.
  KernelBody(llvm::IRBuilderBase& builder, const Kernel& kernel, const CodeStyle& style, llvm::Value* frame);

  // ---- Blocks of code.

  /// for (i = begin; i < end; i += step) body(i)
  void loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step, const std::function<void(llvm::Value*)>& body);
  void when(llvm::Value* condition, const std::function<void()>& body);
  /// Vectors from `begin`, each with a mask: one loop.
  void masked_vectors(llvm::Value* begin, llvm::Value* end, const std::function<void(const Point&)>& body);
  /// What is left from `begin` on: less than a vector, with a mask, or nothing.
  void last_vector(llvm::Value* begin, llvm::Value* end, const std::function<void(const Point&)>& body);
  /// Where whole vectors end that began at a multiple of the lanes.
  llvm::Value* whole_vectors(llvm::Value* end);
  /// From `begin`, which is 0 or the start of a block, whole vectors and then the last one: the body is written twice,
  /// or once when the code is to be compact.
  void vectors(llvm::Value* begin, llvm::Value* end, const std::function<void(const Point&)>& body);

  // ---- The body.

  /// Moves to a row: addresses are from then on those in it.
  void go_to_row(llvm::Value* row);
  llvm::Value* address(std::size_t operand, const Point& point);
  llvm::Value* load(std::size_t operand, const Point& point);
  void store(std::size_t operand, llvm::Value* value, const Point& point);
  /// The element that an instruction makes of positions.
  llvm::Value* create(std::size_t at, const Point& point);
  /// What an iota of integers has in each lane of the next vector more than in this one; null for all else.
  llvm::Value* advance_of(std::size_t at) const;
  /// The code of one instruction; its value becomes values[at]. Nothing for a reduction, whose loops do that.
  void emit(std::size_t at, const Point& point);
  /// The code of all instructions of a level.
  void emit_level(Level level, const Point& point);

  const Kernel& kernel;
  const CodeStyle style;
  llvm::IRBuilderBase& b;
  codegen::Emitter emitter;
  const std::vector<Level> level;     // of the instructions
  std::vector<llvm::Value*> values;   // of the instructions, as last emitted
  std::vector<llvm::Value*> counted;  // of instructions, null unless a loop carries the value of an iota along
  FrameValues frame;
  std::vector<llvm::Value*> bases;   // of operands, in the current row
  std::vector<llvm::Value*> copies;  // of operands, null unless a copy is to be read: the current row of that
  std::vector<llvm::Value*> tiles;  // of operands, null unless a copy of a vector's columns stands for it: short_rows.h

 private:
  void read_frame(llvm::Value* from);
  /// What create() needs that is the same in the whole call.
  void prepare_to_create(std::size_t at);

  std::map<std::size_t, codegen::Emitter::Spacing> spacings_;  // by instruction
  std::map<std::size_t, codegen::Emitter::Stream> streams_;    // likewise
};

}  // namespace lento::cpu

// Accumulator: where a reduction keeps what it has found so far, while its pass over the elements is written.
#pragma once

#include "backends/cpu/code/kernel_body.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace lento::cpu {

/// What arg_max and arg_min keep besides. Columns have one lane. Not inside of Accumulator, where clang takes it for a
/// type that std::optional cannot make.
struct FoundPositions {
  llvm::Value* steps = nullptr;      // memory: in which step of the block each lane's element was found
  llvm::Value* best = nullptr;       // memory: the lanes' elements, of all blocks so far
  llvm::Value* positions = nullptr;  // memory: of those
  llvm::Value* position = nullptr;   // memory: of the result
};

struct Accumulator {
  std::size_t at = 0;                // the instruction
  DType dtype = DType::float32;      // of what is combined
  llvm::Value* lanes = nullptr;      // memory: the 64 lanes of a block
  std::vector<llvm::Value*> groups;  // instead of it, memory that becomes registers: a vector of lanes each
  llvm::Value* nans = nullptr;       // of reduce_max and reduce_min, likewise: lanes that have met a nan
  llvm::Value* result = nullptr;     // memory: of the block, in the end of all
  llvm::Value* tree = nullptr;       // memory: the BlockTree; null in a search
  std::optional<FoundPositions> search;
};

/// Its operand as it was last emitted, in the dtype of what is combined.
llvm::Value* element_to_combine(KernelBody& body, const Accumulator& accumulator);

}  // namespace lento::cpu

// KernelGenerator: writes one kernel's function. kernel_loops.cpp has the loops of maps and what all forms share,
// reduce_loops.cpp the loops that reduce, search_loops.cpp what arg_max and arg_min do in them.
#pragma once

#include "backends/cpu/code/kernel_loops.h"
#include "codegen/emitter.h"
#include "compiler/kernel.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace lento::cpu {

class KernelGenerator {
 public:
  KernelGenerator(llvm::IRBuilderBase& builder, const Kernel& kernel, const CodeStyle& style);
  /// Writes everything between the entry of the function and its return.
  void run(llvm::Value* frame);

 private:
  /// Where code works: a vector of elements along the last dimension.
  struct Point {
    llvm::Value* index = nullptr;    // of the first lane, along the last dimension
    llvm::Value* mask = nullptr;     // the lanes that exist; null means all
    llvm::Value* reduced = nullptr;  // the position along the reduced dimension of a column kernel
    bool stream = false;             // stores go past the caches
  };

  /// A reduction while its pass is written.
  struct Accumulator {
    std::size_t at = 0;                // the instruction
    DType dtype = DType::float32;      // of what is combined
    llvm::Value* lanes = nullptr;      // memory: the 64 lanes of a block
    std::vector<llvm::Value*> groups;  // instead of it, memory that becomes registers: a vector of lanes each
    llvm::Value* nans = nullptr;       // of reduce_max and reduce_min, likewise: lanes that have met a nan
    llvm::Value* result = nullptr;     // memory: of the block, in the end of all
    llvm::Value* tree = nullptr;       // memory: the BlockTree
    // Of arg_max and arg_min. Columns have one lane.
    llvm::Value* steps = nullptr;      // memory: in which step of the block each lane's element was found
    llvm::Value* best = nullptr;       // memory: the lanes' elements, of all blocks so far
    llvm::Value* positions = nullptr;  // memory: of those
    llvm::Value* position = nullptr;   // memory: of the result
  };

  /// An element value that is costly and needed in two passes: the first one leaves it in the memory of an output that
  /// is written later, the others read it there.
  struct Kept {
    std::size_t at = 0;
    std::size_t operand = 0;
    std::uint16_t pass = 0;  // that computes it
  };

  void read_frame(llvm::Value* frame);
  void find_levels();
  InnerStride inner(std::size_t operand) const;

  /// for (i = begin; i < end; i += step) body(i)
  void loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step, const std::function<void(llvm::Value*)>& body);
  void when(llvm::Value* condition, const std::function<void()>& body);
  /// Whole vectors from `begin`, and what is left before `end` with a mask: the body is written twice, or once when the
  /// code is to be compact.
  void vectors(llvm::Value* begin, llvm::Value* end, const std::function<void(const Point&)>& body);

  void emit_where(const std::function<bool(std::size_t)>& chosen, const Point& point);
  void emit(std::size_t at, const Point& point);
  llvm::Value* address(std::size_t operand, const Point& point);
  llvm::Value* load(std::size_t operand, const Point& point);
  void store(std::size_t operand, llvm::Value* value, const Point& point);

  void map_rows();
  void map_row();
  void find_stages();
  std::vector<std::vector<std::size_t>> inputs_of_stages() const;
  /// Whole vectors of a row, up to `full`.
  void map_stages(llvm::Value* full, bool stream);
  /// Rows that tiles were made of; the rest is left for map_row().
  llvm::Value* map_tiles();
  void go_to_row(llvm::Value* row);
  void reduce_row();
  void reduce_columns();
  /// Element values that the reductions and stores of a pass are made of.
  std::vector<std::uint8_t> needed_in(std::uint16_t pass) const;
  void find_kept();
  /// The output that may hold the value of `at` from the end of `pass` on.
  std::optional<std::size_t> output_to_keep(std::size_t at, std::uint16_t pass) const;
  std::vector<Accumulator> accumulators_of(std::uint16_t pass, const Point& start);
  llvm::Value* result_memory(std::size_t slot, DType dtype, const Point& start);
  /// Writes what is done in `pass` when this call does it.
  void when_in_pass(std::uint16_t pass, const std::function<void()>& body);
  std::uint16_t last_pass() const;
  /// Row values, and stores of them, that are known when `pass` begins and were not before.
  void emit_row_values(std::uint16_t pass, const Point& point);
  llvm::Value* element_to_combine(const Accumulator& accumulator);
  llvm::Value* accumulator_bytes(const Accumulator& accumulator, llvm::Value* lane) const;
  /// The lanes of a block, as vectors.
  std::vector<llvm::Value*> lanes_of(const Accumulator& accumulator);
  void start_block(const Accumulator& accumulator);
  void combine_lanes(const Accumulator& accumulator, const Point& point, unsigned group);
  /// As vectors(), in turns of 64 elements: the body is told which of the vectors of a turn it works on.
  void grouped_vectors(llvm::Value* begin, llvm::Value* end, const std::function<void(const Point&, unsigned)>& body);
  void row_pass(const std::vector<std::uint8_t>& needed, const std::vector<Accumulator>& accumulators);
  void column_pass(const std::vector<std::uint8_t>& needed, const std::vector<Accumulator>& accumulators,
                   const Point& column);
  void fetch_ahead(const std::vector<std::uint8_t>& needed, const Point& column, llvm::Value* k);
  void start_results(const std::vector<Accumulator>& accumulators, unsigned width);
  void fold_row_block(const Accumulator& accumulator);
  void fold_column_block(const Accumulator& accumulator, llvm::Value* used);
  void push_block(const Accumulator& accumulator, unsigned width);
  void finish_results(const std::vector<Accumulator>& accumulators, unsigned width);
  /// Makes values of what the passes before have found, in this call or in others.
  void read_results(const std::vector<Accumulator>& accumulators, unsigned width);

  // arg_max and arg_min (search_loops.cpp).
  void start_search(const Accumulator& accumulator);
  void start_block_search(const Accumulator& accumulator);
  void search(const Accumulator& accumulator, const Point& point, llvm::Value* block);
  void finish_block_search(const Accumulator& accumulator, llvm::Value* block);
  void finish_search(const Accumulator& accumulator);
  /// Memory of a vector of lanes, or of columns.
  struct SearchLane {
    llvm::Value* element;
    llvm::Value* step;
    llvm::Value* best;
    llvm::Value* position;
  };
  SearchLane search_lane(const Accumulator& accumulator, llvm::Value* lane);
  void each_search_lane(const Accumulator& accumulator,
                        const std::function<void(llvm::Value*, const SearchLane&)>& body);
  llvm::Value* search_position(llvm::Value* block, llvm::Value* lane, llvm::Value* step);

  const Kernel& kernel_;
  const CodeStyle style_;
  llvm::IRBuilderBase& b_;
  codegen::Emitter emitter_;
  std::vector<std::uint8_t> rows_;
  std::vector<std::uint16_t> passes_;
  std::vector<std::uint8_t> levels_;
  std::vector<llvm::Value*> values_;  // of the instructions, as last emitted
  std::optional<Kept> kept_;
  std::vector<std::vector<std::size_t>> stages_;  // of a map: instructions of level 2
  std::uint16_t pass_ = 0;                        // that is being written

  llvm::Value* numbers_ = nullptr;
  llvm::Value* rows_count_ = nullptr;
  llvm::Value* count_ = nullptr;
  llvm::Value* stream_ = nullptr;  // a bool
  llvm::Value* reduced_begin_ = nullptr;
  llvm::Value* reduced_end_ = nullptr;
  llvm::Value* has_blocks_ = nullptr;  // a bool: more than one to reduce
  llvm::Value* first_pass_ = nullptr;
  llvm::Value* end_pass_ = nullptr;
  llvm::Value* store_rows_ = nullptr;  // a bool
  llvm::Value* results_ = nullptr;
  llvm::Value* result_stride_ = nullptr;
  std::vector<llvm::Value*> addresses_, row_strides_, inner_strides_, reduced_strides_;  // one per operand
  std::vector<llvm::Value*> lane_offsets_;                                               // of operands with any stride
  struct PickedBytes {
    llvm::Value* stride = nullptr;
    llvm::Value* extent = nullptr;
  };
  std::vector<PickedBytes> picked_;  // one per operand
  std::vector<llvm::Value*> bases_;  // of operands, in the current row
  std::vector<llvm::Value*> tiles_;  // of operands, null outside of tiles: the current row of it
};

}  // namespace lento::cpu

// ReduceLoops: the loops of a kernel that reduces, in the order of ir/reduction_order.h. The 64 lanes of a block are
// memory, a vector of them (row kernels) or a vector for each of them (column kernels); the tree over blocks, which few
// reductions are long enough to need, is a function of this library.
#pragma once

#include "backends/cpu/code/accumulator.h"
#include "backends/cpu/code/kernel_body.h"
#include "backends/cpu/code/reduce_passes.h"
#include "backends/cpu/code/search_loops.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lento::cpu {

class ReduceLoops {
 public:
  explicit ReduceLoops(KernelBody body);
  ReduceLoops(const ReduceLoops&) = delete;
  ReduceLoops& operator=(const ReduceLoops&) = delete;
  /// From `first_row` on.
  void write(llvm::Value* first_row);
  /// All passes over a vector of columns, all of which exist, in the row where the body stands.
  void write_columns(llvm::Value* first);

 private:
  struct Pass {
    std::uint16_t number = 0;
    std::vector<std::uint8_t> needed;  // one flag per instruction: an element value that it computes
    std::vector<Accumulator> accumulators;
  };

  /// All passes, over the row or, from this point on, a vector of columns.
  void write_passes(const Point& start);
  void write_pass(const Pass& pass, const Point& start);
  /// Writes what is done when this call does the pass.
  void when_in(const Pass& pass, const std::function<void()>& write);
  /// Element values and stores of them.
  void emit_elements(const Pass& pass, const Point& point);
  /// Row values, and stores of them, that are known when `pass` begins and were not before.
  void emit_row_values(std::uint16_t pass, const Point& point);

  // ---- Accumulators.

  std::vector<Accumulator> accumulators_of(std::uint16_t pass, const Point& start);
  llvm::Value* result_memory(std::size_t slot, DType dtype, const Point& start);
  void start_results(const Pass& pass);
  void push_block(const Accumulator& accumulator);
  void finish_results(const Pass& pass);
  void call_tree(const std::string& function, const Accumulator& accumulator);
  /// Makes values of what the passes before have found, in this call or in others.
  void read_results(const Pass& pass);
  /// The memory of a lane (row kernels) or of a lane of all columns (column kernels).
  llvm::Value* lane_memory(const Accumulator& accumulator, llvm::Value* lane);

  // ---- Rows: the last dimension is reduced.

  void row_pass(const Pass& pass);
  /// As KernelBody::vectors(), in turns of 64 elements: the body is told which of the vectors of a turn it works on.
  void grouped_vectors(llvm::Value* begin, llvm::Value* end, const std::function<void(const Point&, unsigned)>& write);
  void start_row_block(const Accumulator& accumulator);
  void combine_lanes(const Accumulator& accumulator, const Point& point, unsigned group);
  void fold_row_block(const Accumulator& accumulator);
  /// The lanes of a block, as vectors.
  std::vector<llvm::Value*> lanes_of(const Accumulator& accumulator);

  // ---- Columns: the last dimension but one is reduced, a vector of columns at a time.

  void column_pass(const Pass& pass, const Point& column);
  void start_column_lanes(const Pass& pass, llvm::Value* used);
  void combine_columns(const Accumulator& accumulator, const Point& point);
  void fold_column_block(const Accumulator& accumulator, llvm::Value* used);
  void fetch_ahead(const Pass& pass, const Point& column, llvm::Value* k);

  bool by_rows() const { return kernel_.form == LoopForm::row; }
  /// How many results there are side by side.
  unsigned width() const { return by_rows() ? 1 : emitter_.lanes(); }
  Op op(const Accumulator& accumulator) const { return kernel_.body[accumulator.at].op; }

  KernelBody body_;
  llvm::IRBuilderBase& b_;
  codegen::Emitter& emitter_;
  const Kernel& kernel_;
  const ReducePasses passes_;
  SearchLoops search_;
};

}  // namespace lento::cpu

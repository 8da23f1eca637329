// Target: what the compiler must know of a device. Every limit of a schedule stands here, and nothing else decides how
// the steps of two devices differ.
#pragma once

#include <lento/dtype.h>

#include "compiler/kernel.h"
#include "ir/op_number.h"

#include <cstddef>
#include <cstdint>

namespace lento {

struct Target {
  // --- what its kernels can do; asked for every op that could go into one ---

  /// An elementwise op on operands of `compute`, giving `result`.
  bool (*computes)(Op op, DType compute, DType result) = [](Op, DType, DType) { return false; };
  bool (*casts)(DType from, DType to) = [](DType, DType) { return false; };
  /// A reduction over elements of this dtype.
  bool (*reduces)(Op op, DType dtype) = [](Op, DType) { return false; };
  /// iota or random_bits giving this dtype.
  bool (*creates)(Op op, DType dtype) = [](Op, DType) { return false; };
  /// Loads and stores.
  bool (*holds)(DType dtype) = [](DType) { return false; };

  // --- what its calls can do ---

  /// True for ops that are called with views of their operands, where others get them contiguous. The device has calls
  /// for them: only what the user takes from it (CompileOptions::fallback) runs elsewhere, and alone.
  bool (*takes_views)(Op op) = [](Op) { return false; };

  // --- limits of kernels ---

  std::size_t most_nodes = 60;                     // of the graph in one kernel
  std::size_t most_instructions = kMaxKernelBody;  // of a kernel's body; not more than kMaxKernelBody
  /// Rows of at least this many elements that are picked by positions are read where they lie: vectors must fill.
  std::int64_t least_row = 16;
  /// Kernels that make up a chain go over tiles of this many elements (compiler/chains.h): large enough that calls cost
  /// nothing, small enough that a few operands stay in the first cache. 0: there are no chains.
  std::int64_t tile_elements = 2048;
  /// Kernels of at most this many elements times instructions are not worth a launch of their own. As many of them as
  /// `batch_kernels` become one launch where nothing orders them (compiler/batches.h); less than 2: none do.
  double batch_cost = 0;
  /// The same for kernels whose results nothing else in the program reads, as most updates of parameters are. They wait
  /// for each other at no cost.
  double last_batch_cost = 0;
  std::size_t batch_kernels = 0;

  // --- memory ---

  std::size_t alignment = 64;  // of temporaries in their block, in bytes: a power of two

  // --- guesses of time, which decide where a run runs ---

  double nanoseconds_per_instruction = 0.06;  // of a kernel, for one element
  double nanoseconds_per_step = 300;          // whatever it does
};

}  // namespace lento

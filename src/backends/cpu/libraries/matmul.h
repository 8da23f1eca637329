// Matrix products on the CPU, as a step of a program: planned once, run many times, on any thread.
//
//   float32           loops of our own (native/panel_product.h); small ones and vectors OpenBLAS
//   float64, complex  OpenBLAS
//   bfloat16          oneDNN where the processor has instructions for it (which take subnormal elements as zero),
//                     else as float16
//   float16           converted tile by tile to float32 and rounded once
//   integers, bool    plain loops; exact
//
// Floating sums are accumulated in the element type (halves: in float32), not wider as in the reference backend; the
// error of an element is bounded by k * eps * |A| @ |B|. What libraries compute is cut into tiles of the result by
// shape alone and every tile is computed by one thread; in our own loops the cut decides no bit. So the bits depend on
// neither the number of threads nor what else runs.
#pragma once

#include <lento/dtype.h>

#include "backend/library_problems.h"
#include "backends/cpu/libraries/onednn.h"

#include <cstdint>
#include <memory>

namespace lento::cpu {

class PreparedMatmul {
 public:
  /// Null when the problem is beyond the libraries (an extent of 2^31 and more): the reference backend does it.
  static std::unique_ptr<const PreparedMatmul> make(const MatmulProblem& problem);

  /// The operands start at `a`, `b` and `c`; c overlaps neither. Thread-safe. Throws MemoryError.
  void run(const void* a, const void* b, void* c) const;

  /// Multiplications of a run, for estimates.
  double products() const;

 private:
  /// Where in memory a tile's operand is, and how.
  struct Side {
    std::int64_t row = 0;
    std::int64_t column = 0;
    bool transposed = false;  // a column's elements are neighbours, not a row's
    bool direct = true;       // libraries read it as it lies; else it is copied first
  };
  enum class Method : std::uint8_t { zeros, panels, gemm, small_gemm, converted, primitive, plain };

  struct Tile;
  /// Where one matrix of the batch begins, in elements.
  struct Offsets {
    std::int64_t a;
    std::int64_t b;
    std::int64_t c;
  };

  explicit PreparedMatmul(const MatmulProblem& problem);
  static Side side_of(const MatrixStrides& strides, std::int64_t rows, std::int64_t columns);
  /// Of float32: packing b takes less time than what is saved by it.
  bool panels_pay() const;
  void choose_tiles();
  bool make_primitives();
  Offsets offsets_of(std::int64_t matrix) const;
  void run_panels(const float* a, const float* b, float* c) const;
  void run_tile(const Tile& tile) const;
  void run_converted(const Tile& tile) const;
  /// True when all tiles are OpenBLAS's; false when none is, or one at the edge may be.
  bool calls_blas() const;

  MatmulProblem problem_;
  Method method_ = Method::gemm;
  Side a_;
  Side b_;
  std::int64_t batch_count_ = 1;
  std::int64_t tile_m_ = 0;  // the last tile may be smaller
  std::int64_t tile_n_ = 0;
  std::int64_t tiles_m_ = 1;
  std::int64_t tiles_n_ = 1;
  std::shared_ptr<const MatmulPrimitive> primitives_[2][2];  // [last tile along m][last tile along n]
};

}  // namespace lento::cpu

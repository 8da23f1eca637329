// Convolutions and their gradients on the CPU, as a step of a program: planned once, run many times, on any thread.
//
// float32 by oneDNN; float16 and bfloat16 as float32, rounded once. Sums are accumulated in float32. Other types, and
// what oneDNN has nothing fast for, are left to the reference backend. The work is cut by shape alone, into images and
// slices of channels, and every piece is computed by one thread, so the bits do not depend on the number of threads.
#pragma once

#include "backend/library_problems.h"
#include "backends/cpu/libraries/onednn.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace lento::cpu {

class PreparedConvolution {
 public:
  /// Null when this is not supported here.
  static std::unique_ptr<const PreparedConvolution> make(const ConvolutionProblem& problem);

  ~PreparedConvolution();
  PreparedConvolution(const PreparedConvolution&) = delete;
  PreparedConvolution& operator=(const PreparedConvolution&) = delete;

  /// Reads two of the operands and writes the third, which overlaps neither. With `weight_lasts` the weight is the
  /// whole of a buffer, which prepared_weights.h hears of before it changes. Thread-safe. Throws MemoryError.
  void run(const void* x, const void* weight, const void* y, bool weight_lasts = false) const;

  /// Multiplications of a run, for estimates.
  double products() const;

 private:
  /// A range of channels that is computed apart: output channels, input channels for input_grad, or groups.
  struct Slice {
    std::shared_ptr<const ConvolutionPrimitive> primitive;  // for images_ images
    std::int64_t x = 0;                                     // where it starts, in elements
    std::int64_t weight = 0;
    std::int64_t y = 0;
    std::size_t prepared = 0;  // where its weight lies among those prepared, in bytes
  };

  PreparedConvolution();
  bool make_slices();
  bool make_slice(std::int64_t begin, std::int64_t end, bool in_place);
  void run_float(float* x, float* weight, float* y, bool weight_lasts) const;
  /// Every slice of every piece; `weight_of` says where its weight lies.
  template <class WeightOf>
  void run_pieces(float* x, float* y, const WeightOf& weight_of) const;
  void prepare_weights(float* weight, std::byte* prepared) const;

  ConvolutionProblem problem_;
  std::int64_t images_ = 1;  // of a piece; divides the batch
  std::int64_t pieces_ = 1;  // along the batch
  std::vector<Slice> slices_;
  std::size_t prepared_bytes_ = 0;
  std::uint64_t user_;  // of prepared weights
  bool empty_ = false;  // no products: zeros
};

}  // namespace lento::cpu

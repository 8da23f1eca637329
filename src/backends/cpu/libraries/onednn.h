// oneDNN's primitives: matrix products in bfloat16 and convolutions. Making one takes 0.1 to 1 ms (it generates code),
// so they are kept, by all that decides them, in a cache that forgets what was not used for longest. They are made
// without a lock and run on the calling thread; one primitive may run on several threads at once.
#pragma once

#include <lento/dtype.h>
#include <lento/ints.h>

#include "backend/library_problems.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace lento::cpu {

/// An operand as it lies in memory: float32 or bfloat16, strides in elements.
struct OperandLayout {
  DType dtype = DType::float32;
  Ints dims;
  Ints strides;
};

/// True when this processor multiplies bfloat16 with instructions of its own.
bool has_bfloat16_products();

/// C = A @ B for one matrix each.
class MatmulPrimitive {
 public:
  /// Null when oneDNN has nothing fast for these.
  static std::shared_ptr<const MatmulPrimitive> get(const OperandLayout& a, const OperandLayout& b,
                                                    const OperandLayout& c);
  virtual ~MatmulPrimitive() = default;
  virtual void run(const void* a, const void* b, void* c) const = 0;
};

/// What is convolved, as in the primitives of the catalogue: x (N, C, *S), weight (groups, O / groups, C / groups, *K)
/// or, with one group, (O, C, *K), y (N, O, *R). forward computes y, input_grad x, weight_grad the weight.
struct ConvolutionLayout {
  ConvolutionKind kind = ConvolutionKind::forward;
  OperandLayout x;
  OperandLayout weight;
  OperandLayout y;
  Ints stride;
  Ints padding_low;
  Ints padding_high;
  Ints dilation;  // 1: neighbours
  /// Compute on the operands as they lie, instead of in the order that oneDNN prefers.
  bool in_place = false;
};

class ConvolutionPrimitive {
 public:
  /// Null when oneDNN has nothing fast for these.
  static std::shared_ptr<const ConvolutionPrimitive> get(const ConvolutionLayout& layout);
  virtual ~ConvolutionPrimitive() = default;

  /// Size of the weight in the order the primitive computes in; 0 when that is the order it has.
  virtual std::size_t prepared_weight_bytes() const = 0;
  virtual void prepare_weight(const void* weight, void* prepared) const = 0;
  /// Reads two operands and writes the third. `weight` is what prepare_weight wrote when there was something to do (and
  /// the weight itself in weight_grad).
  virtual void run(void* x, void* weight, void* y) const = 0;
};

/// How many primitives are kept, for tests and reports.
std::size_t cached_primitives();

}  // namespace lento::cpu

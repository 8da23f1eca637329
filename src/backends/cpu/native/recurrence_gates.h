// What a step of a recurrence does with each element, once the products are known: the gates, and on the way back their
// derivatives. It is the code of a kernel, so it is as fast as that of a program and has the same bits.
#pragma once

#include "backend/code_cache.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace lento::cpu {

enum class Cell : std::uint8_t { tanh, relu, gru, lstm };

/// A matrix (rows, hidden) that a step reads or writes, with neighbouring columns next to each other.
struct StepMatrix {
  std::byte* data;
  std::int64_t row;  // elements between rows
};

/// Part of a step: rows and columns of its matrices.
struct StepPart {
  std::int64_t first_row;
  std::int64_t end_row;
  std::int64_t first_column;
  std::int64_t end_column;
};

class GateKernel {
 public:
  /// From the projected inputs and the products, part by part, to the next states and the gates:
  ///   tanh, relu  input, product -> state
  ///   gru         3 inputs, 3 products, bias, state before -> state, 4 gates
  ///   lstm        4 inputs, 4 products, cell before -> state, cell, 4 gates
  static GateKernel forward(Cell cell, DType dtype);
  /// Back again. What goes back to the state before is a product and a part that needs none, `kept`:
  ///   tanh, relu  cotangent, product, kept, state -> input
  ///   gru         cotangent, product, kept, 4 gates, state before -> 3 inputs, 3 products, kept
  ///   lstm        cotangent, product, kept, cell cotangent, of cell, 4 gates, cell, cell before -> 4 inputs, of cell
  static GateKernel backward(Cell cell, DType dtype);

  /// The matrices stand in the order above. One that is written may be one that is read.
  void run(std::span<const StepMatrix> matrices, const StepPart& part) const;
  /// Says that it is about to be run for this many elements.
  void note(double elements) const;
  /// A guess at the time of an element.
  double nanoseconds() const;

 private:
  explicit GateKernel(const Kernel& kernel);

  CachedKernelRef code_;
};

}  // namespace lento::cpu

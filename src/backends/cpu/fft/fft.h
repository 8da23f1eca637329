// Fourier transforms on the CPU, as a step of a program: planned once, run many times, on any thread.
//
// Lines are transformed in lanes (lanes.h), by radices 8, 4, 2, 3, 5, 7, 11 and 13; a length with a larger prime
// factor by Bluestein's method, as a convolution. A long line, or one of a few, is written as a matrix
// whose columns and then rows are transformed, in lanes again. Real lines of even length are half as many complex
// numbers.
//
// Elements are float32 or float64 throughout, where the reference backend uses float64 for both. An element of the
// result is wrong by at most 2 eps (log2 n + 1) sqrt(2 n) when those of the operand have real and imaginary parts of at
// most 1; by Bluestein's method four times that. The work is cut by shape alone, so the bits do not depend on the
// number of threads.
#pragma once

#include "backend/library_problems.h"

#include <memory>

namespace lento::cpu {

class PreparedFft {
 public:
  static std::unique_ptr<const PreparedFft> make(const FftProblem& problem);
  virtual ~PreparedFft() = default;

  /// Contiguous, not overlapping. Thread-safe. Throws MemoryError.
  virtual void run(const void* x, void* y) const = 0;

  /// A guess at the time on one thread.
  virtual double nanoseconds() const = 0;
};

}  // namespace lento::cpu

// Products of float32 matrices in panels (panels.h). Both operands are packed once, by all threads, and then all
// threads compute blocks of the result. A library that computes a tile packs a's rows and b's columns for it alone, so
// that tiles must be large, and large tiles are too few for many threads. Here the cut may follow the number of
// threads, since it decides no bit.
#pragma once

#include "base/function_ref.h"

#include <cstdint>

namespace lento::cpu {

/// c (m × n, rows close together) = a (m × k) @ b (k × n), operands with any strides.
struct PanelShape {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t a_row;
  std::int64_t a_column;
  std::int64_t b_row;
  std::int64_t b_column;
};

/// Where one of several products of a shape has its matrices.
struct PanelOperands {
  const float* a;
  const float* b;
  float* c;
};

/// Computes `count` products, on several threads. Throws MemoryError when there is none for packed operands.
void multiply_in_panels(const PanelShape& shape, std::int64_t count,
                        FunctionRef<PanelOperands(std::int64_t)> operands_of);

}  // namespace lento::cpu

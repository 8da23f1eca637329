// Products of many small matrices, one after the other, with the same large one: a state times its weights, step by
// step. The large one is packed once, into panels that lie in memory as they are read; a library would do so in every
// product, which takes longer than the product of a few rows.
//
// An element is summed from the first term to the last, so its bits depend on nothing but its row and its column.
#pragma once

#include "backends/cpu/arena.h"

#include <lento/dtype.h>

#include <cstddef>
#include <cstdint>

namespace lento::cpu {

/// A matrix (depth, columns) of float32 or float64, packed.
class PackedMatrix {
 public:
  /// Columns of a panel. What is multiplied at a time starts at a multiple of it.
  static constexpr std::int64_t kPanel = 16;

  /// Element (k, j) is at data[k * row + j * column]. Packs it on several threads.
  PackedMatrix(DType dtype, const std::byte* data, std::int64_t depth, std::int64_t columns, std::int64_t row,
               std::int64_t column);

  /// c (rows, end - first columns) = a (rows, depth) @ this, columns `first` to `end`; rows of a and c are `a_row` and
  /// `c_row` elements apart. On the calling thread.
  void multiply(std::int64_t rows, const std::byte* a, std::int64_t a_row, std::int64_t first, std::int64_t end,
                std::byte* c, std::int64_t c_row) const;

 private:
  DType dtype_;
  std::int64_t depth_;
  Scratch panels_;
};

}  // namespace lento::cpu

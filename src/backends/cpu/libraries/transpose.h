// Transposed copies of matrices that fit into a cache: images to channels last and back.
#pragma once

#include <cstdint>

namespace lento::cpu {

/// Writes the transposed of a contiguous matrix, which `to` does not overlap.
void transpose_matrix(const float* from, float* to, std::int64_t rows, std::int64_t columns);

/// True where that moves 16 by 16 elements in registers.
bool transposes_in_registers();

}  // namespace lento::cpu

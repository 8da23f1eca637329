// Transposed copies of matrices that fit into a cache: images to channels last and back.
#pragma once

#include <cstdint>

namespace lento::cpu {

/// Writes the transposed of a contiguous matrix, which `to` does not overlap; 16 by 16 elements at a time, in
/// registers, where there are wide vectors.
void transpose_matrix(const float* from, float* to, std::int64_t rows, std::int64_t columns);

}  // namespace lento::cpu

// Factorisations of one large matrix on all threads: blocks of columns are factorised by LAPACK on one thread, what
// follows them is updated in tiles. Blocks and tiles are cut by size alone, so that the bits do not depend on the
// number of threads. Matrices are row-major and n × n.
#pragma once

#include <cstdint>

namespace lento::cpu {

/// From this size on it pays.
inline constexpr std::int64_t kBlockedFrom = 384;

/// The lower triangular factor in place of the lower triangle; 0, or the order of the minor that is not positive. What
/// is above the diagonal is not read, and undefined afterwards.
template <class T>
std::int64_t cholesky_blocked(std::int64_t n, T* a);

/// LU with row exchanges: row i was exchanged with row pivots[i]. 0, or k when the k-th pivot is the first that is 0.
template <class T>
std::int64_t lu_blocked(std::int64_t n, T* a, std::int32_t* pivots);

/// b (n × k) becomes the solution of a @ y == b, where a was factorised by lu_blocked.
template <class T>
void solve_by_lu(std::int64_t n, std::int64_t k, const T* a, const std::int32_t* pivots, T* b);

}  // namespace lento::cpu

#include "backends/cpu/libraries/linalg_blocked.h"

#include "backends/cpu/libraries/blas_by_type.h"
#include "backends/cpu/libraries/library_calls.h"
#include "backends/cpu/threads.h"
#include "backends/reference/lapack_by_type.h"

#include <algorithm>

namespace lento::cpu {

namespace {

constexpr std::int64_t kBlock = 128;
constexpr std::int64_t kTile = 256;

/// Calls body(begin, end) for tiles of [first, n), on all threads.
template <class Body>
void for_each_tile(std::int64_t first, std::int64_t n, std::int64_t tile, Body body) {
  parallel_for((n - first + tile - 1) / tile, 1, [&](std::int64_t begin, std::int64_t end) {
    const OneThread one;
    const reference::BlasCall call;
    for (std::int64_t t = begin; t < end; ++t) body(first + t * tile, std::min(first + (t + 1) * tile, n));
  });
}

/// The same for pairs of tiles; with `lower` those on and below the diagonal alone.
template <class Body>
void for_each_pair(std::int64_t first, std::int64_t n, bool lower, Body body) {
  const std::int64_t tiles = (n - first + kTile - 1) / kTile;
  parallel_for(tiles * tiles, 1, [&](std::int64_t begin, std::int64_t end) {
    const OneThread one;
    const reference::BlasCall call;
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t i = t / tiles, j = t % tiles;
      if (lower && j > i) continue;
      body(first + i * kTile, std::min(first + (i + 1) * kTile, n), first + j * kTile,
           std::min(first + (j + 1) * kTile, n));
    }
  });
}

}  // namespace

template <class T>
std::int64_t cholesky_blocked(std::int64_t n, T* a) {
  for (std::int64_t at = 0; at < n; at += kBlock) {
    const std::int64_t width = std::min(kBlock, n - at);
    T* corner = a + at * n + at;
    {
      const OneThread one;
      const auto info = reference::call_lapack(reference::Lapack<T>::potrf, LAPACK_ROW_MAJOR, 'L',
                                               static_cast<lapack_int>(width), corner, static_cast<lapack_int>(n));
      if (info != 0) return at + info;
    }
    for_each_tile(at + width, n, kTile / 2, [&](std::int64_t begin, std::int64_t end) {
      Blas<T>::trsm(CblasRight, CblasLower, CblasConjTrans, CblasNonUnit, end - begin, width, corner, n,
                    a + begin * n + at, n);
    });
    for_each_pair(at + width, n, true, [&](std::int64_t i, std::int64_t i_end, std::int64_t j, std::int64_t j_end) {
      Blas<T>::subtract_product(CblasConjTrans, i_end - i, j_end - j, width, a + i * n + at, n, a + j * n + at, n,
                                a + i * n + j, n);
    });
  }
  return 0;
}

template <class T>
std::int64_t lu_blocked(std::int64_t n, T* a, std::int32_t* pivots) {
  std::int64_t singular = 0;
  for (std::int64_t at = 0; at < n; at += kBlock) {
    const std::int64_t width = std::min(kBlock, n - at);
    {
      const OneThread one;
      const auto info = reference::call_lapack(reference::Lapack<T>::getrf, LAPACK_ROW_MAJOR,
                                               static_cast<lapack_int>(n - at), static_cast<lapack_int>(width),
                                               a + at * n + at, static_cast<lapack_int>(n), pivots + at);
      if (info > 0 && singular == 0) singular = at + info;
    }
    for (std::int64_t i = at; i < at + width; ++i) pivots[i] += static_cast<std::int32_t>(at) - 1;  // from 1 on
    // The block itself has its rows exchanged already.
    const auto exchange = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = at; i < at + width; ++i) {
        if (pivots[i] != i) std::swap_ranges(a + i * n + begin, a + i * n + end, a + pivots[i] * n + begin);
      }
    };
    exchange(0, at);
    for_each_tile(at + width, n, kTile, [&](std::int64_t begin, std::int64_t end) {
      exchange(begin, end);
      Blas<T>::trsm(CblasLeft, CblasLower, CblasNoTrans, CblasUnit, width, end - begin, a + at * n + at, n,
                    a + at * n + begin, n);
    });
    for_each_pair(at + width, n, false, [&](std::int64_t i, std::int64_t i_end, std::int64_t j, std::int64_t j_end) {
      Blas<T>::subtract_product(CblasNoTrans, i_end - i, j_end - j, width, a + i * n + at, n, a + at * n + j, n,
                                a + i * n + j, n);
    });
  }
  return singular;
}

template <class T>
void solve_by_lu(std::int64_t n, std::int64_t k, const T* a, const std::int32_t* pivots, T* b) {
  for_each_tile(0, k, kTile / 2, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (pivots[i] != i) std::swap_ranges(b + i * k + begin, b + i * k + end, b + pivots[i] * k + begin);
    }
    Blas<T>::trsm(CblasLeft, CblasLower, CblasNoTrans, CblasUnit, n, end - begin, a, n, b + begin, k);
    Blas<T>::trsm(CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, n, end - begin, a, n, b + begin, k);
  });
}

template std::int64_t cholesky_blocked(std::int64_t, float*);
template std::int64_t cholesky_blocked(std::int64_t, double*);
template std::int64_t cholesky_blocked(std::int64_t, std::complex<float>*);
template std::int64_t cholesky_blocked(std::int64_t, std::complex<double>*);
template std::int64_t lu_blocked(std::int64_t, float*, std::int32_t*);
template std::int64_t lu_blocked(std::int64_t, double*, std::int32_t*);
template std::int64_t lu_blocked(std::int64_t, std::complex<float>*, std::int32_t*);
template std::int64_t lu_blocked(std::int64_t, std::complex<double>*, std::int32_t*);
template void solve_by_lu(std::int64_t, std::int64_t, const float*, const std::int32_t*, float*);
template void solve_by_lu(std::int64_t, std::int64_t, const double*, const std::int32_t*, double*);
template void solve_by_lu(std::int64_t, std::int64_t, const std::complex<float>*, const std::int32_t*,
                          std::complex<float>*);
template void solve_by_lu(std::int64_t, std::int64_t, const std::complex<double>*, const std::int32_t*,
                          std::complex<double>*);

}  // namespace lento::cpu

// BLAS by element type, row-major, with extents of 64 bits that fit 31. The caller holds OneThread.
#pragma once

#include <cblas.h>

#include <complex>
#include <concepts>
#include <cstdint>

namespace lento::cpu {

template <class T>
struct Blas {
  /// b (m × n) becomes the solution of op(a) @ y == b, or of y @ op(a) == b on the right side.
  static void trsm(CBLAS_SIDE side, CBLAS_UPLO triangle, CBLAS_TRANSPOSE op, CBLAS_DIAG diagonal, std::int64_t m,
                   std::int64_t n, const T* a, std::int64_t lda, T* b, std::int64_t ldb) {
    const T one(1);
    const auto call = [&](auto function, auto factor) {
      function(CblasRowMajor, side, triangle, op, diagonal, static_cast<blasint>(m), static_cast<blasint>(n), factor, a,
               static_cast<blasint>(lda), b, static_cast<blasint>(ldb));
    };
    if constexpr (std::same_as<T, float>) call(cblas_strsm, one);
    if constexpr (std::same_as<T, double>) call(cblas_dtrsm, one);
    if constexpr (std::same_as<T, std::complex<float>>) call(cblas_ctrsm, &one);
    if constexpr (std::same_as<T, std::complex<double>>) call(cblas_ztrsm, &one);
  }

  /// c (m × n) -= a (m × k) @ op(b).
  static void subtract_product(CBLAS_TRANSPOSE op, std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
                               std::int64_t lda, const T* b, std::int64_t ldb, T* c, std::int64_t ldc) {
    const T minus_one(-1), one(1);
    const auto call = [&](auto function, auto alpha, auto beta) {
      function(CblasRowMajor, CblasNoTrans, op, static_cast<blasint>(m), static_cast<blasint>(n),
               static_cast<blasint>(k), alpha, a, static_cast<blasint>(lda), b, static_cast<blasint>(ldb), beta, c,
               static_cast<blasint>(ldc));
    };
    if constexpr (std::same_as<T, float>) call(cblas_sgemm, minus_one, one);
    if constexpr (std::same_as<T, double>) call(cblas_dgemm, minus_one, one);
    if constexpr (std::same_as<T, std::complex<float>>) call(cblas_cgemm, &minus_one, &one);
    if constexpr (std::same_as<T, std::complex<double>>) call(cblas_zgemm, &minus_one, &one);
  }
};

}  // namespace lento::cpu

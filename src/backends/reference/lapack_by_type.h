// LAPACK by element type: Lapack<T>::gesv and so on.
#pragma once

#include "backends/reference/blas_memory.h"

#include <complex>
#include <new>

// LAPACKE's declarations shall take std::complex.
#define LAPACK_COMPLEX_CUSTOM
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapacke.h>

namespace lento::reference {

/// Calls a function of LAPACKE and returns what it returns. Throws std::bad_alloc when there was no memory, which
/// LAPACKE says by a number that looks like a failure of the method.
template <class Function, class... Arguments>
lapack_int call_lapack(Function function, Arguments... arguments) {
  const BlasCall call;
  const lapack_int info = function(arguments...);
  if (info == LAPACK_WORK_MEMORY_ERROR || info == LAPACK_TRANSPOSE_MEMORY_ERROR) throw std::bad_alloc();
  return info;
}

/// potrf Cholesky, getrf LU, gesv solve, geqrf and generate_q for QR, gesdd singular values, heevd Hermitian and geev
/// general eigenvalues. Those that end in _work take nan in the right-hand side.
template <class T>
struct Lapack;

template <>
struct Lapack<float> {
  static constexpr auto potrf = LAPACKE_spotrf;
  static constexpr auto getrf = LAPACKE_sgetrf_work;
  static constexpr auto gesv = LAPACKE_sgesv_work;
  static constexpr auto geqrf = LAPACKE_sgeqrf;
  static constexpr auto generate_q = LAPACKE_sorgqr;
  static constexpr auto gesdd = LAPACKE_sgesdd;
  static constexpr auto heevd = LAPACKE_ssyevd;
  static constexpr auto geev = LAPACKE_sgeev;
};

template <>
struct Lapack<double> {
  static constexpr auto potrf = LAPACKE_dpotrf;
  static constexpr auto getrf = LAPACKE_dgetrf_work;
  static constexpr auto gesv = LAPACKE_dgesv_work;
  static constexpr auto geqrf = LAPACKE_dgeqrf;
  static constexpr auto generate_q = LAPACKE_dorgqr;
  static constexpr auto gesdd = LAPACKE_dgesdd;
  static constexpr auto heevd = LAPACKE_dsyevd;
  static constexpr auto geev = LAPACKE_dgeev;
};

template <>
struct Lapack<std::complex<float>> {
  static constexpr auto potrf = LAPACKE_cpotrf;
  static constexpr auto getrf = LAPACKE_cgetrf_work;
  static constexpr auto gesv = LAPACKE_cgesv_work;
  static constexpr auto geqrf = LAPACKE_cgeqrf;
  static constexpr auto generate_q = LAPACKE_cungqr;
  static constexpr auto gesdd = LAPACKE_cgesdd;
  static constexpr auto heevd = LAPACKE_cheevd;
  static constexpr auto geev = LAPACKE_cgeev;
};

template <>
struct Lapack<std::complex<double>> {
  static constexpr auto potrf = LAPACKE_zpotrf;
  static constexpr auto getrf = LAPACKE_zgetrf_work;
  static constexpr auto gesv = LAPACKE_zgesv_work;
  static constexpr auto geqrf = LAPACKE_zgeqrf;
  static constexpr auto generate_q = LAPACKE_zungqr;
  static constexpr auto gesdd = LAPACKE_zgesdd;
  static constexpr auto heevd = LAPACKE_zheevd;
  static constexpr auto geev = LAPACKE_zgeev;
};

}  // namespace lento::reference

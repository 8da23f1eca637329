// What OpenBLAS is told, and what it needs.
//
// Threads: a call stays on the thread that makes it, so that the bits of a result do not depend on the number of
// threads. OpenBLAS is told so once for the whole process when Lento is loaded; it knows no narrower way. A program
// that shares this very copy of OpenBLAS, and wants its threads, calls openblas_set_num_threads afterwards; then only
// the speed of Lento's products of float64 and complex numbers, and the promise about their bits, is at stake.
//
// Memory: it maps a buffer of 128 MiB per call under way, keeps it, and tries for ever when there is no room for one.
// Here that is std::bad_alloc.
#pragma once

namespace lento::reference {

/// Around every call of BLAS or LAPACK: while it lives, OpenBLAS has a buffer for the calling thread. Where there is
/// room for some buffers but not for one more, it waits until another call is done. May be nested.
class BlasCall {
 public:
  /// Throws std::bad_alloc when there is no room for a single buffer.
  BlasCall();
  ~BlasCall();
  BlasCall(const BlasCall&) = delete;
  BlasCall& operator=(const BlasCall&) = delete;
};

}  // namespace lento::reference

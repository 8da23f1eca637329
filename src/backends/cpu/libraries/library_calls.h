// How libraries are called: each call stays on the thread that makes it. Work is cut by our own code, by shape alone,
// and handed to parallel_for; so the bits of a result do not depend on the number of threads, libraries' threads do not
// fight with ours, and a forked child finds none missing.
//
// OpenBLAS is told so for the whole process (backends/reference/blas_memory.h).
//
// When the process ends, libraries destroy their generated code and buffers while other threads may be inside them. So
// calls are counted: at exit those under way are waited for, and later ones throw BackendError.
#pragma once

namespace lento::cpu {

/// Around every library call: while it lives, what OpenMP libraries (oneDNN) do for the calling thread they do on it
/// alone, and the libraries are not taken down.
class OneThread {
 public:
  /// Throws BackendError when the process is ending.
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// To be called once a library has made what it keeps in static variables: these are destroyed in reverse order, so
/// that what is arranged for the end of the process only now comes before.
void wait_for_calls_at_exit();

}  // namespace lento::cpu

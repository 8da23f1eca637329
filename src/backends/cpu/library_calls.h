// How libraries are called: each call stays on the thread that makes it. Work is cut by our own code, by shape alone,
// and handed to parallel_for; so the bits of a result do not depend on the number of threads, libraries' threads do not
// fight with ours, and a forked child finds none missing.
//
// OpenBLAS is told so once for the whole process when Lento is loaded (it knows no narrower way): a program that shares
// this very copy of OpenBLAS, and wants its threads, calls openblas_set_num_threads afterwards; then only the speed of
// Lento's products of float64 and complex numbers, and the promise about their bits, is at stake.
#pragma once

namespace lento::cpu {

/// While it lives, what OpenMP libraries (oneDNN) do for the calling thread they do on it alone. Some 5 ns.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace lento::cpu

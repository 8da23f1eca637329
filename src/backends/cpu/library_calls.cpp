#include "backends/cpu/library_calls.h"

// Declared here and not by omp.h, which exists only beside compilers that have OpenMP.
extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int count);
void openblas_set_num_threads(int count);
}

namespace lento::cpu {

namespace {

[[maybe_unused]] const bool openblas_is_serial = (openblas_set_num_threads(1), true);

}  // namespace

OneThread::OneThread() : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}

OneThread::~OneThread() {
  if (before_ != 1) omp_set_num_threads(before_);
}

}  // namespace lento::cpu

#include "backends/cpu/libraries/library_calls.h"

#include "base/fail.h"
#include "base/fork.h"
#include "base/process_end.h"

#include <atomic>
#include <thread>

// Declared here and not by omp.h, which exists only beside compilers that have OpenMP.
extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int count);
}

namespace lento::cpu {

namespace {

// A call announces itself and then looks whether the process is ending; the end does it the other way round.
constinit std::atomic<int> under_way{0};
constinit std::atomic<bool> ending{false};

// A child has none of the threads whose calls were under way.
[[maybe_unused]] const bool forgotten_in_child = (call_in_child([] { under_way = 0; }), true);

void end_calls() {
  ending = true;
  while (under_way != 0) std::this_thread::yield();
}

void enter() {
  static const bool arranged = (wait_for_calls_at_exit(), true);
  (void)arranged;
  under_way.fetch_add(1);
  if (!ending) return;
  under_way.fetch_sub(1);
  fail<BackendError>("the process is ending");
}

}  // namespace

void wait_for_calls_at_exit() { at_process_end(EndStage::libraries, end_calls); }

OneThread::OneThread() {
  enter();
  before_ = omp_get_max_threads();
  if (before_ != 1) omp_set_num_threads(1);
}

OneThread::~OneThread() {
  if (before_ != 1) omp_set_num_threads(before_);
  under_way.fetch_sub(1);
}

}  // namespace lento::cpu

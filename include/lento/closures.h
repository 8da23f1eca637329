// Step closures: functions that are called after a step, with tensors as they were when the closure was added
// (clauses C1 to C6). For logging, checkpoints and everything else that should not make the loop wait.
#pragma once

#include <lento/device.h>
#include <lento/error.h>
#include <lento/export.h>
#include <lento/tensor.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <vector>

namespace lento {

using StepClosure = std::function<void(const std::vector<Tensor>&)>;

/// Calls f(args) after the device's next step. The args are snapshots and are computed by that step. Synchronous
/// closures run on the stepping thread, in the order added, before step() returns; asynchronous ones run in order on
/// one worker thread per device. Reading an argument waits for it, computes nothing more and is not counted as a sync.
/// Throws ValueError when the function or an argument is empty.
LENTO_API void add_step_closure(StepClosure f, std::vector<Tensor> args = {}, bool run_async = false,
                                Device device = {});

/// Runs the closures added since the last step now, as step() does after launching.
LENTO_API void run_step_closures(Device device = {});

/// Blocks until the asynchronous closures handed over so far have run (or were dropped after one failed).
LENTO_API void wait_closures();

/// How many asynchronous closures may wait; handing over more blocks. LENTO_MAX_ASYNC_QUEUE, or 100. Throws ValueError
/// when that is not a whole number of at least 1.
LENTO_API std::size_t max_async_closures();

/// Thrown by the next step that hands over asynchronous closures after one has failed. what() tells what the original
/// exception says, cause() is that exception.
class LENTO_API ClosureError : public BackendError {
 public:
  explicit ClosureError(std::exception_ptr cause);
  const std::exception_ptr& cause() const { return cause_; }

 private:
  std::exception_ptr cause_;
};

}  // namespace lento

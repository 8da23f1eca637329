// The queues behind include/lento/closures.h: what waits for a device's next step, and the asynchronous worker.
#pragma once

#include <lento/closures.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

namespace lento {

struct PendingClosure {
  StepClosure function;
  std::vector<Tensor> args;
  bool run_async = false;
};

/// Takes what was added since the last step.
std::vector<PendingClosure> take_closures(std::uint8_t device);
/// Puts them back in front of what was added meanwhile: the step could not be launched.
void return_closures(std::uint8_t device, std::vector<PendingClosure> closures);
/// Hands the asynchronous ones over, then runs the synchronous ones on this thread.
void run_closures(std::uint8_t device, std::vector<PendingClosure> closures);

/// The message of clause C5, to which what() of a ClosureError adds what the cause says.
inline constexpr const char* kClosureRefused = "Cannot run asynchronous closure due to previously raised exception";

/// Called by an asynchronous closure that is about to throw and must give up a lock before it can, as Python closures
/// the GIL: from here on submitters wait until it has thrown, and raise. Does nothing in other threads.
void closure_is_failing();

/// Failures of asynchronous closures that nobody has heard of, which are forgotten with this: for the end of a program,
/// since there is no next one to hand over a closure.
std::vector<std::exception_ptr> take_closure_failures();

/// For the end of the process, after which nobody adds any: lets the asynchronous closures run. When one of them reads
/// from a device that hangs, this says so, abandons them and returns false.
bool finish_closures();

/// The end of the process does not wait for asynchronous closures. For a front end that has waited as long as it wants,
/// and whose closures may never return.
void abandon_closures();

/// How long a worker waits for work before it ends; 3 seconds unless a test is in a hurry.
void set_closure_idle_time(std::chrono::milliseconds time);
/// Workers that exist at the moment, of all devices.
std::size_t closure_workers();

/// True while the calling thread runs a closure: its reads are not surprises.
bool inside_closure();

}  // namespace lento

// The threads that work for the executor. They start when there is something to do, end with the process, and a forked
// child gets new ones.
#pragma once

#include <chrono>
#include <functional>

namespace lento {

/// Runs and compiles have workers of their own, so that a compile never waits for long runs to end.
enum class Workers { run, compile };

/// Installs what the end of the process needs. What the process does at its end is done in the reverse order:
/// whoever waits for runs then must have called this before.
void prepare_workers();

/// Says, once, that the end of the process waits for devices that hang no longer.
void tell_of_end_without_devices();

/// Calls the task on a worker, or right here when there is none: no thread can be started, or the process is ending.
/// The task must not throw.
void submit(Workers pool, std::function<void()> task) noexcept;

/// While it lives the process cannot fork: what is announced inside and then submitted would never be done in a child,
/// which has neither the thread nor the task. Taken before any lock, and not twice by a thread.
class NoForkNow {
 public:
  /// Throws BackendError in a thread that still wants it `set_end_of_process` after the process began to end.
  NoForkNow();
  ~NoForkNow();
  NoForkNow(const NoForkNow&) = delete;
  NoForkNow& operator=(const NoForkNow&) = delete;
};

/// How long threads other than the one that ends the process are stopped before they get an exception: 10 seconds. The
/// process is gone long before, unless something that is destroyed at its end waits for the thread. For tests.
void set_end_of_process(std::chrono::milliseconds limit);

}  // namespace lento

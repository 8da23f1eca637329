// What must hold when the process forks: a child has only the forking thread, so every lock of ours must be free in its
// copy. Locks that any thread may hold are registered here; fork() then waits for them and the child finds them free.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>

namespace lento {

/// Locks of lower order are taken first; a thread that holds one may take those of higher order.
enum class ForkOrder {
  background,
  tapes,
  tape,
  cache,
  runs,
  notes,
  values,
  interner,
  ops,
  op_counters,
  counters,
  devices,
  waiting,
  memory
};

/// Installs what fork() calls for these locks. What a caller installs afterwards is called before them.
void install_fork_locks();
/// Calls this in every child, on its only thread.
void call_in_child(void (*function)());

/// The mutex must live as long as the process.
void lock_while_forking(std::mutex& mutex, ForkOrder order);
/// The same for locks of another kind, or more of them than are known now; `unlock_in_child` where the child has more
/// to put right.
void lock_while_forking(std::function<void()> lock, std::function<void()> unlock, ForkOrder order);
void lock_while_forking(std::function<void()> lock, std::function<void()> unlock, std::function<void()> unlock_in_child,
                        ForkOrder order);

/// A mutex that fork() knows. It must live as long as the process.
class ForkMutex : public std::mutex {
 public:
  explicit ForkMutex(ForkOrder order) { lock_while_forking(*this, order); }
};

/// The one T of this process. It is made before there are threads, for a fork in the middle of making it would leave
/// the child with half of it, and never destroyed: threads may use it while the process exits.
template <class T>
class ProcessLifetime {
 public:
  static T& get() {
    (void)&made_at_start_;  // what nothing mentions is not made
    static T* const made = new T;
    return *made;
  }

 private:
  static inline const bool made_at_start_ = (get(), true);
};

/// The one T of a process, made and kept as a ProcessLifetime is; the child of a fork has its own. For what threads of
/// the parent may be waiting on: no thread of the child can wake them, and a condition variable that counts them may
/// never return.
template <class T>
class PerProcess {
 public:
  static T& get() {
    (void)&made_at_start_;
    return *current().load(std::memory_order_acquire);
  }

 private:
  static std::atomic<T*>& current() {
    static std::atomic<T*> one = [] {
      call_in_child([] { current().store(new T, std::memory_order_release); });
      return new T;
    }();
    return one;
  }
  static inline const bool made_at_start_ = (get(), true);
};

}  // namespace lento

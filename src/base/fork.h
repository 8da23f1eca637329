// What must hold when the process forks: a child has only the forking thread, so every lock of ours must be free in its
// copy. Locks that any thread may hold are registered here; fork() then waits for them and the child finds them free.
#pragma once

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
class Lasting {
 public:
  static T& get() {
    (void)&made_at_start_;  // what nothing mentions is not made
    static T* const made = new T;
    return *made;
  }

 private:
  static inline const bool made_at_start_ = (get(), true);
};

}  // namespace lento

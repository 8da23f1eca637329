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

}  // namespace lento

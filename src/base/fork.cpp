#include "base/fork.h"

#include <pthread.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace lento {

namespace {

struct Registered {
  std::function<void()> lock;
  std::function<void()> unlock;
  std::function<void()> unlock_in_child;
  ForkOrder order;
};

struct Locks {
  std::mutex mutex;
  std::vector<Registered> list;  // in the order they are taken
};

void release_in_parent();
void release_in_child();

Locks& locks() {
  static auto* all = [] {
    pthread_atfork(
        [] {
          locks().mutex.lock();
          for (const Registered& each : locks().list) each.lock();
        },
        release_in_parent, release_in_child);
    return new Locks;
  }();
  return *all;
}

void release_in_parent() {
  for (auto it = locks().list.rbegin(); it != locks().list.rend(); ++it) it->unlock();
  locks().mutex.unlock();
}

void release_in_child() {
  for (auto it = locks().list.rbegin(); it != locks().list.rend(); ++it) it->unlock_in_child();
  locks().mutex.unlock();
}

}  // namespace

void install_fork_locks() { (void)locks(); }

void call_in_child(void (*function)()) { pthread_atfork(nullptr, nullptr, function); }

void lock_while_forking(std::mutex& mutex, ForkOrder order) {
  lock_while_forking([&mutex] { mutex.lock(); }, [&mutex] { mutex.unlock(); }, order);
}

void lock_while_forking(std::function<void()> lock, std::function<void()> unlock, ForkOrder order) {
  lock_while_forking(std::move(lock), unlock, unlock, order);
}

void lock_while_forking(std::function<void()> lock, std::function<void()> unlock, std::function<void()> unlock_in_child,
                        ForkOrder order) {
  const std::lock_guard guard(locks().mutex);
  std::vector<Registered>& list = locks().list;
  const auto after = std::find_if(list.begin(), list.end(), [&](const Registered& each) { return each.order > order; });
  list.insert(after, {std::move(lock), std::move(unlock), std::move(unlock_in_child), order});
}

}  // namespace lento

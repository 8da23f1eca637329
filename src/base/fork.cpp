#include "base/fork.h"

#include <pthread.h>

#include <algorithm>
#include <vector>

namespace lento {

namespace {

struct Registered {
  std::mutex* mutex;
  ForkOrder order;
};

struct Locks {
  std::mutex mutex;
  std::vector<Registered> list;  // in the order they are taken
};

void release_all();

Locks& locks() {
  static auto* all = [] {
    pthread_atfork(
        [] {
          locks().mutex.lock();
          for (const Registered& each : locks().list) each.mutex->lock();
        },
        release_all, release_all);
    return new Locks;
  }();
  return *all;
}

void release_all() {
  for (auto it = locks().list.rbegin(); it != locks().list.rend(); ++it) it->mutex->unlock();
  locks().mutex.unlock();
}

}  // namespace

void lock_while_forking(std::mutex& mutex, ForkOrder order) {
  const std::lock_guard lock(locks().mutex);
  std::vector<Registered>& list = locks().list;
  const auto after = std::find_if(list.begin(), list.end(), [&](const Registered& each) { return each.order > order; });
  list.insert(after, {&mutex, order});
}

}  // namespace lento

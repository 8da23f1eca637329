#include "tensor/watch.h"

#include "base/fail.h"

namespace lento {

constinit thread_local Watcher* current_watcher = nullptr;

Watcher::Watcher() : outer_(current_watcher), thread_(&current_watcher) { current_watcher = this; }

Watcher::~Watcher() { unlink(); }

void Watcher::stop() {
  if (!stopped_ && thread_ != &current_watcher) fail<ValueError>("a watch ends in the thread that began it");
  unlink();
}

void Watcher::unlink() noexcept {
  if (stopped_) return;
  stopped_ = true;
  // In another thread there is nothing that could be done safely; stop() refused, and a destructor comes here only
  // when the thread has ended or has stopped it.
  if (thread_ != &current_watcher) return;
  for (Watcher** link = &current_watcher; *link != nullptr; link = &(*link)->outer_) {
    if (*link != this) continue;
    *link = outer_;
    return;
  }
}

}  // namespace lento

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

bool Watcher::may_go() const { return stopped_ || thread_ == &current_watcher; }

void Watcher::unlink() noexcept {
  if (stopped_) return;
  stopped_ = true;
  for (Watcher** link = &current_watcher; *link != nullptr; link = &(*link)->outer_) {
    if (*link != this) continue;
    *link = outer_;
    return;
  }
}

}  // namespace lento

#include "backend/host_fence.h"

#include <utility>

namespace lento {

bool HostFence::done() const noexcept {
  const std::lock_guard lock(mutex_);
  return done_;
}

void HostFence::wait() const noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_; });
}

void HostFence::then(FenceListener& listener) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!told_) {
      listener.next = nullptr;
      (first_ == nullptr ? first_ : last_->next) = &listener;
      last_ = &listener;
      return;
    }
  }
  listener.reached();
}

void HostFence::reach() noexcept {
  std::unique_lock lock(mutex_);
  done_ = true;
  changed_.notify_all();
  while (first_ != nullptr) {
    FenceListener* next = std::exchange(first_, nullptr);
    lock.unlock();
    while (next != nullptr) std::exchange(next, next->next)->reached();
    lock.lock();
  }
  told_ = true;
}

}  // namespace lento

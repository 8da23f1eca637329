#include "base/interrupt.h"

#include <atomic>

namespace lento {

namespace {
std::atomic<InterruptCheck> installed{nullptr};
// Set together, once; `before` is published last.
std::atomic<void (*)(void*)> after_blocking{nullptr};
std::atomic<void* (*)()> before_blocking{nullptr};
}  // namespace

void set_interrupt_check(InterruptCheck check) { installed.store(check, std::memory_order_release); }

void check_interrupt() {
  if (const InterruptCheck check = installed.load(std::memory_order_acquire); check != nullptr) check();
}

void set_blocking_hooks(const BlockingHooks& hooks) {
  after_blocking.store(hooks.after, std::memory_order_relaxed);
  before_blocking.store(hooks.before, std::memory_order_release);
}

Blocking::Blocking() {
  if (const auto before = before_blocking.load(std::memory_order_acquire); before != nullptr) token_ = before();
}

Blocking::~Blocking() {
  if (token_ != nullptr) after_blocking.load(std::memory_order_relaxed)(token_);
}

}  // namespace lento

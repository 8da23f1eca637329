#include "base/interrupt.h"

#include <atomic>

namespace lento {

namespace {
std::atomic<InterruptCheck> installed{nullptr};
// Set together, once; `before` is published last.
std::atomic<void (*)(void*)> after_blocking{nullptr};
std::atomic<void* (*)(WhoMayBlock)> before_blocking{nullptr};
std::atomic<bool (*)()> asked_to_block{nullptr};
}  // namespace

void set_interrupt_check(InterruptCheck check) { installed.store(check, std::memory_order_release); }

void check_interrupt() {
  if (const InterruptCheck check = installed.load(std::memory_order_acquire); check != nullptr) check();
}

void set_blocking_hooks(const BlockingHooks& hooks) {
  after_blocking.store(hooks.after, std::memory_order_relaxed);
  before_blocking.store(hooks.before, std::memory_order_release);
  asked_to_block.store(hooks.may_block, std::memory_order_release);
}

bool may_block() {
  const auto ask = asked_to_block.load(std::memory_order_acquire);
  return ask == nullptr || ask();
}

Blocking::Blocking(WhoMayBlock who) {
  if (const auto before = before_blocking.load(std::memory_order_acquire); before != nullptr) token_ = before(who);
}

Blocking::~Blocking() {
  if (token_ != nullptr) after_blocking.load(std::memory_order_relaxed)(token_);
}

}  // namespace lento

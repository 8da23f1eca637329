#include "base/interrupt.h"

#include <atomic>

namespace lento {

namespace {
std::atomic<InterruptCheck> installed{nullptr};
}  // namespace

void set_interrupt_check(InterruptCheck check) { installed.store(check, std::memory_order_release); }

void check_interrupt() {
  if (const InterruptCheck check = installed.load(std::memory_order_acquire); check != nullptr) check();
}

}  // namespace lento

#include "base/memory.h"

#include "base/fail.h"

#include <array>

namespace lento {

void MemoryAccount::charge(std::size_t bytes) {
  // What does not fit is never counted, not even for a moment: another thread's small tensor might fail for it.
  std::size_t now = live.load(std::memory_order_relaxed);
  do {
    const std::size_t most = limit.load(std::memory_order_relaxed);
    if (most != 0 && (bytes > most || now > most - bytes)) {
      fail<MemoryError>("{} bytes more than the {} in use would exceed the memory limit of {}", bytes, now, most);
    }
  } while (!live.compare_exchange_weak(now, now + bytes, std::memory_order_relaxed));
}

void MemoryAccount::raise_peak() {
  const std::size_t now = in_use();
  std::size_t old = peak.load(std::memory_order_relaxed);
  while (now > old && !peak.compare_exchange_weak(old, now, std::memory_order_relaxed)) {
  }
}

MemoryAccount& memory_account(std::uint8_t device) {
  static constinit std::array<MemoryAccount, kMaxDevices> accounts;
  return accounts[device];
}

}  // namespace lento

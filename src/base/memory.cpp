#include "base/memory.h"

#include "base/fail.h"

#include <array>

namespace lento {

void MemoryAccount::charge(std::size_t bytes) {
  const std::size_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (const std::size_t most = limit.load(std::memory_order_relaxed); most != 0 && now > most) {
    live.fetch_sub(bytes, std::memory_order_relaxed);
    fail<MemoryError>("{} bytes more than the {} in use would exceed the memory limit of {}", bytes, now - bytes, most);
  }
}

void MemoryAccount::raise_peak() {
  const std::size_t now = live.load(std::memory_order_relaxed);
  std::size_t old = peak.load(std::memory_order_relaxed);
  while (now > old && !peak.compare_exchange_weak(old, now, std::memory_order_relaxed)) {
  }
}

MemoryAccount& memory_account(std::uint8_t device) {
  static constinit std::array<MemoryAccount, kMaxDevices> accounts;
  return accounts[device];
}

}  // namespace lento

// Accounts of device memory: what is alive, the most there was, and a limit.
#pragma once

#include "base/devices.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lento {

/// One device's; any thread.
struct MemoryAccount {
  std::atomic<std::size_t> live{0};
  // What runs under way work in, and what stands on the host for devices with memory of their own. No plan knows it and
  // no limit refuses it.
  std::atomic<std::size_t> working{0};
  std::atomic<std::size_t> cached{0};  // freed, and kept by an allocator for reuse
  std::atomic<std::size_t> peak{0};
  std::atomic<std::size_t> limit{0};  // 0: none

  /// Throws MemoryError when this goes over the limit; nothing is counted then.
  void charge(std::size_t bytes);
  /// Once what was charged could be allocated.
  void raise_peak();
  void credit(std::size_t bytes) { live.fetch_sub(bytes, std::memory_order_relaxed); }
  std::size_t in_use() const { return live.load(std::memory_order_relaxed) + working.load(std::memory_order_relaxed); }
  void reset_peak() { peak.store(in_use(), std::memory_order_relaxed); }
};
MemoryAccount& memory_account(std::uint8_t device);

}  // namespace lento

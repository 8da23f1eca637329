// FirstUse: what a driver makes of a device when somebody first uses it (clause D2), with a fork at any moment.
#pragma once

#include "base/usable_devices.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

namespace lento {

/// The one T of a device, kept as long as the process.
template <class T>
class FirstUse {
 public:
  constexpr FirstUse() = default;

  /// It, made by `make`, which gives a std::unique_ptr<T>, unless it is there. The child of a fork that came while the
  /// parent was making it, or later, must not use it. There this throws DeviceError, like every other door to the
  /// device: the lock is taken after the device was marked, so whoever of the parent held it, no child waits for it.
  template <class Make>
  T& get(std::uint8_t device, Make make) {
    if (T* const there = made_.load(std::memory_order_acquire)) return *there;
    require_usable(device);
    forbid_in_child(device);
    const std::lock_guard lock(mutex_);
    T* there = made_.load(std::memory_order_relaxed);
    if (there == nullptr) {
      there = make().release();
      made_.store(there, std::memory_order_release);
    }
    return *there;
  }

 private:
  std::mutex mutex_;
  std::atomic<T*> made_{nullptr};
};

}  // namespace lento

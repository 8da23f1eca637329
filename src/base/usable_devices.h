// Devices that cannot be used any more: lost while they worked (clause D5), or left behind in the parent of a fork
// (clause D2). Every door to a device asks here, so that all of them say the same, and no driver has to be asked.
#pragma once

#include "base/value.h"

#include <atomic>
#include <cstdint>
#include <string_view>

namespace lento {

/// Bits by device id.
extern std::atomic<std::uint32_t> unusable_devices;

inline bool is_usable(std::uint8_t device) {
  return (unusable_devices.load(std::memory_order_acquire) >> device & 1) == 0;
}
/// Why its tensors cannot be read; null while it can be used. The same for all of them.
FailureRef why_unusable(std::uint8_t device);
/// For who is about to tell the user of a device's loss, which poisons much and is told once for all of it: true the
/// first time.
bool is_first_to_tell(const FailureRef& loss);
[[noreturn]] void fail_unusable(std::uint8_t device);
/// Throws DeviceLostError, or DeviceError in the child of a fork, unless it can be used.
inline void require_usable(std::uint8_t device) {
  if (!is_usable(device)) [[unlikely]]
    fail_unusable(device);
}

// --- what drivers say ---

/// The device stopped working for good. See driver.h for what holds from then on. Any thread, any number of times.
void lose_device(std::uint8_t device, std::string_view why);
/// The device is about to be used for the first time, and the child of a fork could not use it. Any number of times;
/// FirstUse of backend/first_use.h does it.
void forbid_in_child(std::uint8_t device);
/// For devices of tests, once nothing of the lost one is left.
void replace_lost_device(std::uint8_t device);

}  // namespace lento

// The table of device names; backends add to it when they register.
#pragma once

#include <lento/device.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace lento {

inline constexpr std::size_t kMaxDevices = 16;

/// Registers "name:index" and returns its id. Ids are dense, start at 0 and are never reused. Throws DeviceError when
/// there are kMaxDevices already.
std::uint8_t add_device(std::string name);

/// The device of an id that is known to be registered, because it came from a Device or from the table: nothing is
/// looked up.
struct RegisteredDevice {
  static Device of(std::uint8_t id) { return Device(id); }
};

}  // namespace lento

// The table of device names; backends add to it when they register.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lento {

inline constexpr std::size_t kMaxDevices = 16;

/// Registers "name:index" and returns its id. Ids are dense, start at 0 and are never reused.
std::uint8_t add_device(std::string name);

}  // namespace lento

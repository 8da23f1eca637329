// Device: where a tensor lives, as backend name and index: "reference:0".
#pragma once

#include <lento/export.h>

#include <atomic>
#include <cstdint>
#include <iosfwd>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace lento {

namespace detail {
LENTO_API extern std::atomic<std::uint8_t> default_device_id;
}  // namespace detail

/// A device is a small number that stands for a registered backend's device; equality is identity.
class LENTO_API Device {
 public:
  /// The default device: the first one, or what set_default_device was given last.
  Device() noexcept : id_(detail::default_device_id.load(std::memory_order_relaxed)) {}
  /// Parses "reference", "reference:0". Throws DeviceError naming the devices there are.
  explicit Device(std::string_view text, std::source_location site = std::source_location::current());
  /// The device with this id(). Throws DeviceError unless there is one.
  static Device from_id(std::uint8_t id, std::source_location site = std::source_location::current());

  std::uint8_t id() const { return id_; }
  /// "reference:0".
  std::string to_string() const;

  friend bool operator==(Device, Device) = default;
  LENTO_API friend std::ostream& operator<<(std::ostream& out, Device device);

 private:
  friend struct RegisteredDevice;

  std::uint8_t id_;
};

/// Where tensors are made when nobody names a device: Device().
LENTO_API Device default_device();
/// Tensors that any thread makes from now on without naming a device are made there; those that exist stay where they
/// are.
LENTO_API void set_default_device(Device device, std::source_location site = std::source_location::current());

/// Every device of every registered backend, in registration order.
LENTO_API std::vector<Device> devices();

}  // namespace lento

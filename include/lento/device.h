// Device: where a tensor lives, as backend name and index: "reference:0".
#pragma once

#include <lento/export.h>

#include <cstdint>
#include <iosfwd>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace lento {

/// A device is a small number that stands for a registered backend's device; equality is identity.
class LENTO_API Device {
 public:
  /// The default device: that of the innermost DeviceScope of this thread, or else what set_default_device was given
  /// last, or else LENTO_DEVICE, or else the first one. Throws DeviceError when LENTO_DEVICE names none.
  Device();
  /// Parses "reference", "reference:0". Throws DeviceError naming the devices there are.
  explicit Device(std::string_view text, std::source_location site = std::source_location::current());
  /// The device with this id(). Throws DeviceError unless there is one.
  static Device from_id(std::uint8_t id, std::source_location site = std::source_location::current());

  std::uint8_t id() const { return id_; }
  /// Whether it stopped working (clause D5). What was on it is gone, and everything that needs it throws
  /// DeviceLostError. Other devices go on.
  bool is_lost() const;
  /// "reference:0".
  std::string to_string() const;

  friend bool operator==(Device, Device) = default;
  LENTO_API friend std::ostream& operator<<(std::ostream& out, Device device);

 private:
  friend struct RegisteredDevice;
  explicit Device(std::uint8_t id) : id_(id) {}

  std::uint8_t id_;
};

/// Where tensors are made when nobody names a device: Device().
LENTO_API Device default_device();
/// Tensors that any thread makes from now on without naming a device are made there; those that exist stay where they
/// are.
LENTO_API void set_default_device(Device device, std::source_location site = std::source_location::current());

/// The default device of the calling thread for the length of a block:
///
///     const DeviceScope scope(Device("cuda:1"));
class LENTO_API DeviceScope {
 public:
  explicit DeviceScope(Device device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int outer_;
};

/// Every device of every registered backend, in registration order; also those that are lost. No device is touched.
LENTO_API std::vector<Device> devices();

}  // namespace lento

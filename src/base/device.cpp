#include <lento/device.h>

#include "base/devices.h"
#include "base/fail.h"
#include "base/fork.h"
#include "base/source.h"

#include <deque>
#include <mutex>
#include <ostream>

namespace lento {

namespace {

struct Table {
  ForkMutex mutex{ForkOrder::devices};
  std::deque<std::string> names;  // by id: "reference:0"
};

Table& table() { return Lasting<Table>::get(); }

}  // namespace

std::atomic<std::uint8_t> detail::default_device_id{0};

Device default_device() { return {}; }

void set_default_device(Device device, std::source_location site) {
  const CallScope scope("set_default_device", site);
  detail::default_device_id.store(Device::from_id(device.id(), site).id(), std::memory_order_relaxed);
}

std::uint8_t add_device(std::string name) {
  Table& devices = table();
  const std::lock_guard lock(devices.mutex);
  if (devices.names.size() >= kMaxDevices) {
    fail<DeviceError>("'{}' cannot be registered: there are {} devices already, and room for no more", name,
                      kMaxDevices);
  }
  devices.names.push_back(std::move(name));
  return static_cast<std::uint8_t>(devices.names.size() - 1);
}

Device::Device(std::string_view text, std::source_location site) {
  const CallScope scope("Device", site);
  Table& devices = table();
  const std::lock_guard lock(devices.mutex);
  const std::string wanted = text.find(':') == std::string_view::npos ? std::string(text) + ":0" : std::string(text);
  for (std::size_t i = 0; i < devices.names.size(); ++i) {
    if (devices.names[i] == wanted) {
      id_ = static_cast<std::uint8_t>(i);
      return;
    }
  }
  fail<DeviceError>("there is no device '{}'; the devices are: {}", text, fmt::join(devices.names, ", "));
}

Device Device::from_id(std::uint8_t id, std::source_location site) {
  const CallScope scope("from_id", site);
  Table& devices = table();
  const std::lock_guard lock(devices.mutex);
  if (id >= devices.names.size()) {
    fail<DeviceError>("there is no device with id {}; ids go from 0 to {}, the devices are: {}", id,
                      devices.names.size() - 1, fmt::join(devices.names, ", "));
  }
  return RegisteredDevice::of(id);
}

std::string Device::to_string() const {
  Table& devices = table();
  const std::lock_guard lock(devices.mutex);
  return id_ < devices.names.size() ? devices.names[id_] : "unknown:" + std::to_string(id_);
}

std::ostream& operator<<(std::ostream& out, Device device) { return out << device.to_string(); }

std::vector<Device> devices() {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  std::vector<Device> list;
  for (std::size_t i = 0; i < all.names.size(); ++i) list.push_back(RegisteredDevice::of(static_cast<std::uint8_t>(i)));
  return list;
}

}  // namespace lento

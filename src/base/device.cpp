#include <lento/device.h>

#include "base/devices.h"
#include "base/fail.h"
#include "base/fork.h"
#include "base/source.h"
#include "base/usable_devices.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <ostream>
#include <utility>

namespace lento {

namespace {

struct Table {
  ForkMutex mutex{ForkOrder::devices};
  std::deque<std::string> names;  // by id: "reference:0"
};

Table& table() { return ProcessLifetime<Table>::get(); }

/// "cpu" is the first one of these.
std::optional<std::uint8_t> find_device(std::string_view text) {
  Table& devices = table();
  const std::lock_guard lock(devices.mutex);
  const std::string wanted = text.find(':') == std::string_view::npos ? std::string(text) + ":0" : std::string(text);
  const auto found = std::ranges::find(devices.names, wanted);
  if (found == devices.names.end()) return std::nullopt;
  return static_cast<std::uint8_t>(found - devices.names.begin());
}

std::string device_names() {
  Table& devices = table();
  const std::lock_guard lock(devices.mutex);
  return fmt::format("{}", fmt::join(devices.names, ", "));
}

constexpr int kNone = -1;
/// What set_default_device was given; at first what LENTO_DEVICE names.
std::atomic<int> chosen_device{kNone};
constinit thread_local int scope_device = kNone;

int device_of_environment() {
  const char* const name = std::getenv("LENTO_DEVICE");
  if (name == nullptr || *name == '\0') return 0;
  if (const std::optional<std::uint8_t> id = find_device(name)) return *id;
  fail<DeviceError>("LENTO_DEVICE is '{}', which is no device; the devices are: {}", name, device_names());
}

/// The environment is looked at when somebody wants to know, and again until it names a device: one may be registered
/// after the library has loaded.
int first_default_device() {
  int nobody_chose = kNone;
  const int found = device_of_environment();
  return chosen_device.compare_exchange_strong(nobody_chose, found) ? found : nobody_chose;
}

std::uint8_t default_device_id() {
  if (scope_device != kNone) return static_cast<std::uint8_t>(scope_device);
  const int chosen = chosen_device.load(std::memory_order_relaxed);
  return static_cast<std::uint8_t>(chosen != kNone ? chosen : first_default_device());
}

}  // namespace

Device::Device() : id_(default_device_id()) {}

Device default_device() { return {}; }

DeviceScope::DeviceScope(Device device) : outer_(std::exchange(scope_device, device.id())) {}
DeviceScope::~DeviceScope() { scope_device = outer_; }

bool Device::is_lost() const {
  const FailureRef failure = why_unusable(id_);
  return failure && failure->kind == ErrorKind::device_lost;
}

void set_default_device(Device device, std::source_location site) {
  const CallScope scope("set_default_device", site);
  chosen_device.store(Device::from_id(device.id(), site).id(), std::memory_order_relaxed);
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
  const std::optional<std::uint8_t> id = find_device(text);
  if (!id) fail<DeviceError>("there is no device '{}'; the devices are: {}", text, device_names());
  id_ = *id;
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

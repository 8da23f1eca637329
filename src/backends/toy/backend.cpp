// The toy devices as a backend, and what tests do to them.
#include "backend/backend.h"
#include "backend/first_use.h"
#include "backends/toy/device.h"
#include "backends/toy/toy.h"
#include "base/devices.h"
#include "base/usable_devices.h"

#include <lento/device.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>

namespace lento::toy {

namespace {

std::atomic<void (*)()> first_use_hook{nullptr};

class ToyBackend final : public Backend {
 public:
  std::string_view name() const override { return "toy"; }
  int device_count() const override { return 2; }
  BufferRef allocate(std::size_t bytes, std::uint8_t device) override { return of(device).allocate(bytes, false); }
  DeviceQueues* queues(std::uint8_t device) override { return &of(device); }
  Driver* driver(std::uint8_t device) override { return &of(device); }

 private:
  /// Made at its first use, and kept as long as the process: its threads and fences are.
  static ToyDevice& of(std::uint8_t device) {
    static constinit std::array<FirstUse<ToyDevice>, kMaxDevices> devices;
    return devices[device].get(device, [device] {
      if (const auto interrupted = first_use_hook.load()) interrupted();
      return std::make_unique<ToyDevice>(device);
    });
  }
};

std::uint8_t id_of(int device) { return Device("toy:" + std::to_string(device)).id(); }

}  // namespace

void register_toy() {
  [[maybe_unused]] static const bool once = (register_backend(std::make_unique<ToyBackend>()), true);
}

void at_first_use(void (*function)()) { first_use_hook = function; }

void lose(int device) { lose_and_wake(id_of(device)); }

void replace(int device) {
  DeviceQueues& queues = *backend_of(id_of(device)).queues(id_of(device));
  for (const Queue queue : {Queue::compute, Queue::upload, Queue::download}) queues.record(queue)->wait();
  replace_lost_device(id_of(device));
}

}  // namespace lento::toy

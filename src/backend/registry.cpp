#include "backend/backend.h"

#include "base/devices.h"
#include "base/fail.h"

#include <array>
#include <atomic>
#include <string>

namespace lento {

namespace {

/// By device id. Backends are registered while the library loads and live as long as the process.
std::array<std::atomic<Backend*>, kMaxDevices> backends{};

}  // namespace

void register_backend(std::unique_ptr<Backend> backend) {
  Backend* registered = backend.release();
  for (int index = 0; index < registered->device_count(); ++index) {
    const std::uint8_t id = add_device(std::string(registered->name()) + ":" + std::to_string(index));
    backends[id].store(registered, std::memory_order_release);
  }
}

void Backend::copy_from_host(Buffer&, const void*, std::size_t) {
  fail<BackendError>("the memory of {} is written through its queues", name());
}

const void* Backend::host_pointer(const Buffer&) {
  fail<BackendError>("the memory of {} is read through its queues", name());
}

void Backend::run_node(const NodeCall&) { fail<BackendError>("{} runs no op alone", name()); }

std::unique_ptr<Program> Backend::own_program(Graph, std::uint8_t) {
  fail<BackendError>("{} has neither drivers nor programs of its own", name());
}

Backend& backend_of(std::uint8_t device) {
  Backend* backend = device < kMaxDevices ? backends[device].load(std::memory_order_acquire) : nullptr;
  if (backend == nullptr) fail<DeviceError>("there is no device {}", device);
  return *backend;
}

}  // namespace lento

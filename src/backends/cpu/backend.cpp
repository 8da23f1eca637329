// The CPU backend: one device, whose driver is driver.h.
#include "backend/backend.h"
#include "backends/cpu/arena.h"
#include "backends/cpu/driver.h"
#include "backends/cpu/libraries/prepared_weights.h"

#include <cstring>

namespace lento::cpu {

namespace {

class CpuBackend final : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  int device_count() const override { return 1; }
  BufferRef allocate(std::size_t bytes, std::uint8_t device) override { return allocate_cpu(bytes, device); }
  void copy_from_host(Buffer& destination, const void* source, std::size_t bytes) override {
    forget_prepared_weights(destination.data());
    if (bytes != 0) std::memcpy(destination.data(), source, bytes);
  }
  bool in_host_memory() const override { return true; }
  const void* host_pointer(const Buffer& buffer) override { return buffer.data(); }
  Driver* driver(std::uint8_t) override { return &cpu_driver(); }
};

struct Registration {
  Registration() { register_backend(std::make_unique<CpuBackend>()); }
};
// Before the reference backend, whatever the order of files in the library: the first device is the host's.
[[maybe_unused, gnu::init_priority(1000)]] const Registration registration;

}  // namespace

}  // namespace lento::cpu

#include "backend/queues.h"

#include "backend/backend.h"
#include "base/fail.h"
#include "base/memory.h"

#include <algorithm>
#include <cstdlib>

namespace lento {

BufferRef DeviceQueues::host_memory(std::size_t bytes) {
  BufferRef memory = allocate_on_host(bytes);
  MemoryAccount& account = memory_account(kHostDevice);
  account.working.fetch_add(bytes, std::memory_order_relaxed);
  account.raise_peak();
  const auto let_go = [](void*, std::size_t size, void* inner) {
    BufferRef::adopt(static_cast<Buffer*>(inner)).reset();
    memory_account(kHostDevice).working.fetch_sub(size, std::memory_order_relaxed);
  };
  void* const data = memory->data();
  const std::uint8_t device = memory->device();
  return Buffer::wrap(data, bytes, device, let_go, memory.release());
}

BufferRef DeviceQueues::allocate_on_host(std::size_t bytes) {
  void* const data = std::malloc(std::max<std::size_t>(bytes, 1));
  if (data == nullptr) fail<MemoryError>("cannot allocate {} bytes of host memory", bytes);
  return Buffer::wrap(data, bytes, kHostDevice, [](void* at, std::size_t, void*) { std::free(at); }, nullptr);
}

void DeviceQueues::fetch(void*, std::uint8_t, const void*, std::size_t) {
  fail<BackendError>("this device copies from no other device");
}

}  // namespace lento

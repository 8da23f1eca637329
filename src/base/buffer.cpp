#include "base/buffer.h"

#include "base/fail.h"

#include <cstdlib>
#include <memory>

namespace lento {

namespace {

constexpr std::size_t kAlignment = 64;
std::atomic<std::size_t> live_bytes{0};
std::atomic<std::size_t> peak_bytes{0};

void count_allocation(std::size_t bytes) {
  const std::size_t now = live_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::size_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (now > peak && !peak_bytes.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

void free_host(void* data, std::size_t size, void*) {
  std::free(data);
  live_bytes.fetch_sub(size, std::memory_order_relaxed);
}

}  // namespace

BufferRef Buffer::wrap(void* data, std::size_t size, std::uint8_t device, Deleter deleter, void* owner) {
  auto buffer = std::make_unique<Buffer>();
  buffer->data_ = data;
  buffer->size_ = size;
  buffer->device_ = device;
  buffer->deleter_ = deleter;
  buffer->owner_ = owner;
  return BufferRef::adopt(buffer.release());
}

void Buffer::destroy(Buffer* buffer) {
  const std::unique_ptr<Buffer> owned(buffer);
  if (owned->deleter_ != nullptr) owned->deleter_(owned->data_, owned->size_, owned->owner_);
}

BufferRef allocate_host(std::size_t bytes, std::uint8_t device) {
  // aligned_alloc wants a multiple of the alignment; an empty tensor still gets an address of its own.
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* data = rounded < bytes ? nullptr : std::aligned_alloc(kAlignment, rounded == 0 ? kAlignment : rounded);
  if (data == nullptr)
    fail<MemoryError>("cannot allocate {} bytes of host memory ({} in use)", bytes, live_host_bytes());
  count_allocation(bytes);
  return Buffer::wrap(data, bytes, device, free_host, nullptr);
}

std::size_t live_host_bytes() { return live_bytes.load(std::memory_order_relaxed); }
std::size_t peak_host_bytes() { return peak_bytes.load(std::memory_order_relaxed); }
void reset_peak_host_bytes() { peak_bytes.store(live_host_bytes(), std::memory_order_relaxed); }

}  // namespace lento

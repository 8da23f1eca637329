#include "base/buffer.h"

#include "base/charge.h"
#include "base/fail.h"
#include "base/memory.h"

#include <cstdlib>
#include <memory>
#include <new>

namespace lento {

namespace {

constexpr std::size_t kAlignment = 64;

void free_host(void* data, std::size_t size, void* account) {
  std::free(data);
  static_cast<MemoryAccount*>(account)->credit(size);
}

}  // namespace

BufferRef Buffer::wrap(void* data, std::size_t size, std::uint8_t device, Deleter deleter, void* owner) {
  std::unique_ptr<Buffer> buffer;
  try {
    buffer = std::make_unique<Buffer>();
  } catch (const std::bad_alloc&) {
    if (deleter != nullptr) deleter(data, size, owner);
    throw;
  }
  buffer->data_ = data;
  buffer->size_ = size;
  buffer->device_ = device;
  buffer->deleter_ = deleter;
  buffer->owner_ = owner;
  return BufferRef::adopt(buffer.release());
}

BufferRef Buffer::wrap_shared(const void* data, std::size_t size, std::uint8_t device, Deleter deleter, void* owner) {
  BufferRef buffer = wrap(const_cast<void*>(data), size, device, deleter, owner);
  buffer->shared_ = true;
  return buffer;
}

void Buffer::destroy(Buffer* buffer) {
  const std::unique_ptr<Buffer> owned(buffer);
  if (owned->deleter_ != nullptr) owned->deleter_(owned->data_, owned->size_, owned->owner_);
}

BufferRef allocate_host(std::size_t bytes, std::uint8_t device) {
  MemoryAccount& account = memory_account(device);
  Charge charge(account, bytes);
  // aligned_alloc wants a multiple of the alignment; an empty tensor still gets an address of its own.
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* data = rounded < bytes ? nullptr : std::aligned_alloc(kAlignment, rounded == 0 ? kAlignment : rounded);
  if (data == nullptr) {
    fail<MemoryError>("cannot allocate {} bytes of host memory ({} in use)", bytes, account.live.load() - bytes);
  }
  charge.keep();
  return Buffer::wrap(data, bytes, device, free_host, &account);
}

}  // namespace lento

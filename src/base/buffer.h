// Buffer: a counted block of device memory. Tensors, leaves and exports share it by Ref.
#pragma once

#include "base/ref.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lento {

class Buffer {
 public:
  /// Called once when the last holder lets go, or when wrap() throws because there is no memory for the Buffer.
  using Deleter = void (*)(void* data, std::size_t size, void* owner);

  static Ref<Buffer> wrap(void* data, std::size_t size, std::uint8_t device, Deleter deleter, void* owner);
  /// The same for memory that somebody else holds as well: it is read and never written.
  static Ref<Buffer> wrap_shared(const void* data, std::size_t size, std::uint8_t device, Deleter deleter, void* owner);
  static void destroy(Buffer* buffer);

  void* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::uint8_t device() const { return device_; }
  /// True when others than holders of a Ref may change the memory, or use it for something else afterwards.
  bool shared() const { return shared_; }
  /// The memory was handed to another library. It should leave it alone, but not all do: what was derived from the
  /// content must not be used again. For as long as the buffer lives, since nobody tells what was written before the
  /// end.
  void mark_exported() { exported_.store(true, std::memory_order_relaxed); }
  bool exported() const { return exported_.load(std::memory_order_relaxed); }
  /// True when the caller's Ref is the only one: the memory may be written in place.
  bool unique() const { return !shared_ && refs.load(std::memory_order_acquire) == 1; }

  std::atomic<std::uint32_t> refs{1};

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
  void* owner_ = nullptr;
  Deleter deleter_ = nullptr;
  std::uint8_t device_ = 0;
  bool shared_ = false;  // with others than holders of a Ref
  std::atomic<bool> exported_{false};
};

using BufferRef = Ref<Buffer>;

/// Host memory aligned to 64 bytes, charged to the device's account; throws MemoryError.
BufferRef allocate_host(std::size_t bytes, std::uint8_t device);

}  // namespace lento

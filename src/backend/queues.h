// DeviceQueues: what a device gives that works on its own, in memory of its own. Compiled programs are queued by its
// driver; here are the copies between its memory and others, and the order between queues. Any thread may call all
// of it. What throws has queued nothing; what is noexcept fails only with the device, which is lost then
// (base/usable_devices.h).
#pragma once

#include "base/buffer.h"
#include "base/fence.h"

#include <cstddef>
#include <cstdint>

namespace lento {

/// Work of one queue runs in the order in which it was queued. Queues are ordered by fences alone.
enum class Queue : std::uint8_t { compute, upload, download };
inline constexpr std::size_t kQueues = 3;

class DeviceQueues {
 public:
  virtual ~DeviceQueues() = default;
  /// A fence that is recorded once, later. Whoever queues something makes one first, so that the end of what is queued
  /// can be told for certain. Throws MemoryError, BackendError.
  virtual FenceRef make_fence() = 0;
  /// Puts the fence behind everything that the queue was given so far.
  virtual void record(Queue queue, const FenceRef& fence) noexcept = 0;
  /// What the queue is given from now on begins when the fence, one of this device that was recorded, is reached. Comes
  /// back at once.
  virtual void wait(Queue queue, const FenceRef& fence) noexcept = 0;
  /// A fence behind everything that the queue was given so far. Throws as make_fence() does.
  FenceRef record(Queue queue) {
    FenceRef fence = make_fence();
    record(queue, fence);
    return fence;
  }

  /// Queues a copy from the host's memory, which stays what it is until the copy has ended.
  virtual void upload(void* to, const void* from_host, std::size_t bytes) = 0;
  /// Queues a copy to the host's memory, which is there until the copy has ended.
  virtual void download(void* to_host, const void* from, std::size_t bytes) = 0;
  /// Memory of the host that this device copies from and to best. It counts as memory that work under way on the host's
  /// device works in: no limit refuses it, since the copy out of a device that is full must not fail for it. Throws
  /// MemoryError.
  BufferRef host_memory(std::size_t bytes);

  /// Whether fetch() copies from that device, another one of the same backend.
  virtual bool can_fetch(std::uint8_t from_device) const {
    (void)from_device;
    return false;
  }
  /// Queues a copy from the other device's memory to this one's, for Queue::upload of this device. What it reads is
  /// there when it is called, and stays until the copy has ended.
  virtual void fetch(void* to, std::uint8_t from_device, const void* from, std::size_t bytes);

 private:
  /// For host_memory(), which keeps account of it. Plain memory, unless the device copies better from other.
  virtual BufferRef allocate_on_host(std::size_t bytes);
};

}  // namespace lento

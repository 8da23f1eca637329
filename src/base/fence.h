// Fence: a point in a queue of a device that works on its own. What was queued before it has ended once it is reached.
// All fences of a lost device are reached: whoever needs what was queued asks afterwards whether the device is usable.
//
// Nothing about a fence that has been recorded can fail, because by then the device uses memory that must be kept until
// the fence is reached. What can fail is making one (DeviceQueues::make_fence), which comes before anything is queued.
#pragma once

#include <memory>

namespace lento {

/// Somebody who wants to hear that a fence is reached. The fence links it, so that asking needs no memory.
class FenceListener {
 public:
  /// Called once, on a thread of the driver's or in Fence::then. It does not wait for the device, but it may queue
  /// copies and free memory of the device: a callback in which the device forbids that is no such thread.
  virtual void reached() noexcept = 0;

  FenceListener* next = nullptr;  // the fence's, until it is reached

 protected:
  ~FenceListener() = default;
};

class Fence {
 public:
  virtual ~Fence() = default;
  virtual bool done() const noexcept = 0;
  /// Blocks until it is reached.
  virtual void wait() const noexcept = 0;
  /// Calls the listener: at once when the fence has been reached, else later. Listeners of one queue are called in the
  /// order of its fences. The listener lives until it is called, and may be gone afterwards.
  virtual void then(FenceListener& listener) noexcept = 0;
};
using FenceRef = std::shared_ptr<Fence>;

}  // namespace lento

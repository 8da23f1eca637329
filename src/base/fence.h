// Fence: a point in a queue of a device that works on its own. What was queued before it has ended once it is reached.
// All fences of a lost device are reached: whoever needs what was queued asks afterwards whether the device is usable.
#pragma once

#include <functional>
#include <memory>

namespace lento {

class Fence {
 public:
  virtual ~Fence() = default;
  virtual bool done() const = 0;
  /// Blocks until it is reached.
  virtual void wait() const = 0;
  /// Calls the function once: at once when the fence has been reached, else on a thread of the driver's. Functions of
  /// one queue are called in the order of its fences. The function does not throw and does not wait for the device, but
  /// it may queue copies and free memory of the device: a callback in which the device forbids that is no such thread.
  virtual void then(std::function<void()> function) = 0;
};
using FenceRef = std::shared_ptr<Fence>;

}  // namespace lento

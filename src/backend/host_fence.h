// HostFence: a fence that a thread of the host reaches: the queue's own, or the one that hears from the device.
#pragma once

#include "base/fence.h"

#include <condition_variable>
#include <mutex>

namespace lento {

class HostFence : public Fence {
 public:
  bool done() const noexcept override;
  void wait() const noexcept override;
  void then(FenceListener& listener) noexcept override;
  /// Once. Calls the listeners, in the order in which they came.
  void reach() noexcept;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool done_ = false;
  bool told_ = false;  // listeners that came before have been called
  FenceListener* first_ = nullptr;
  FenceListener* last_ = nullptr;
};

}  // namespace lento

// A queue of a toy device: a thread that does one thing after the other.
#pragma once

#include "backend/host_fence.h"
#include "backends/toy/toy.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace lento::toy {

/// Whether what is about to happen is to fail.
bool fails_here(Fault fault);
void lose_and_wake(std::uint8_t device);

/// Lives as long as the process.
class WorkQueue {
 public:
  WorkQueue(std::uint8_t device, std::uint64_t number) : device_(device), number_(number) {}
  /// `always`: also when the device is lost.
  void push(std::function<void()> work, bool always = false);
  /// Reaches the fence.
  void record(std::shared_ptr<HostFence> fence) {
    push([fence = std::move(fence)] { fence->reach(); }, true);
  }
  /// What is pushed from now on waits for the fence.
  void wait(const FenceRef& fence) {
    if (!fence->done()) push([fence] { fence->wait(); });
  }

 private:
  struct Item {
    std::function<void()> work;
    bool always;
  };

  void work();

  const std::uint8_t device_;
  const std::uint64_t number_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Item> work_;
  bool started_ = false;
};

}  // namespace lento::toy

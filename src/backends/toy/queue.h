// A queue of a toy device: a thread that does one thing after the other.
#pragma once

#include "backends/toy/toy.h"
#include "base/fence.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace lento::toy {

class WorkQueue;

/// Whether what is about to happen is to fail.
bool fails_here(Fault fault);
void lose_and_wake(std::uint8_t device);

/// While it lives, its thread is where nothing can fail.
class CannotFail {
 public:
  CannotFail();
  ~CannotFail();
  CannotFail(const CannotFail&) = delete;
  CannotFail& operator=(const CannotFail&) = delete;
};

class ToyFence final : public Fence {
 public:
  bool done() const noexcept override;
  void wait() const noexcept override;
  void then(FenceListener& listener) noexcept override;
  /// On the queue's thread.
  void reach();

  const WorkQueue* queue = nullptr;  // once it is recorded

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool done_ = false;
  bool told_ = false;  // listeners that came before have been called
  FenceListener* first_ = nullptr;
  FenceListener* last_ = nullptr;
};

/// Lives as long as the process.
class WorkQueue {
 public:
  WorkQueue(std::uint8_t device, std::uint64_t number) : device_(device), number_(number) {}
  void push(std::function<void()> work);
  void record(std::shared_ptr<ToyFence> fence);
  /// What is pushed from now on waits for the fence.
  void wait(const FenceRef& fence);

 private:
  struct Item {
    std::function<void()> work;
    bool always;  // also when the device is lost
  };

  void push(Item item);
  void work();

  const std::uint8_t device_;
  const std::uint64_t number_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Item> work_;
  bool started_ = false;
};

}  // namespace lento::toy

// A queue of a toy device: a thread that does one thing after the other.
#pragma once

#include "base/fence.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace lento::toy {

class WorkQueue;

class ToyFence final : public Fence {
 public:
  explicit ToyFence(const WorkQueue& of) : queue(of) {}
  bool done() const override;
  void wait() const override;
  void then(std::function<void()> function) override;
  /// On the queue's thread.
  void reach();

  const WorkQueue& queue;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool done_ = false;
  bool told_ = false;  // functions that came before have been called
  std::vector<std::function<void()>> functions_;
};

/// Lives as long as the process.
class WorkQueue {
 public:
  explicit WorkQueue(std::uint64_t number) : number_(number) {}
  void push(std::function<void()> work);
  std::shared_ptr<ToyFence> record();
  /// What is pushed from now on waits for the fence.
  void wait(const FenceRef& fence);

 private:
  void work();

  const std::uint64_t number_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> work_;
  bool started_ = false;
};

}  // namespace lento::toy

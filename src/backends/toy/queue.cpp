#include "backends/toy/queue.h"

#include "backends/toy/toy.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace lento::toy {

namespace {

std::atomic<std::uint64_t> delay_seed{0};
std::atomic<bool> held{false};

/// Numbers that look random (splitmix64).
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

void set_delays(std::uint64_t seed) { delay_seed = seed; }

void hold(bool now) {
  held = now;
  held.notify_all();
}

bool ToyFence::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

void ToyFence::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_; });
}

void ToyFence::then(std::function<void()> function) {
  {
    const std::lock_guard lock(mutex_);
    if (!told_) {
      functions_.push_back(std::move(function));
      return;
    }
  }
  function();
}

void ToyFence::reach() {
  std::unique_lock lock(mutex_);
  done_ = true;
  changed_.notify_all();
  while (!functions_.empty()) {
    const std::vector<std::function<void()>> functions = std::exchange(functions_, {});
    lock.unlock();
    for (const std::function<void()>& function : functions) function();
    lock.lock();
  }
  told_ = true;
}

void WorkQueue::push(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  if (!std::exchange(started_, true)) std::thread([this] { this->work(); }).detach();
  arrived_.notify_one();
}

std::shared_ptr<ToyFence> WorkQueue::record() {
  auto fence = std::make_shared<ToyFence>(*this);
  push([fence] { fence->reach(); });
  return fence;
}

void WorkQueue::wait(const FenceRef& fence) {
  const auto& own = dynamic_cast<const ToyFence&>(*fence);
  if (&own.queue == this || fence->done()) return;
  push([fence] { fence->wait(); });
}

void WorkQueue::work() {
  std::uint64_t turn = number_ << 32;
  std::unique_lock lock(mutex_);
  while (true) {
    arrived_.wait(lock, [this] { return !work_.empty(); });
    const std::function<void()> next = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    held.wait(true);
    if (const std::uint64_t seed = delay_seed; seed != 0) {
      const std::uint64_t drawn = mixed(seed + ++turn * 0x9e3779b97f4a7c15ULL);
      if (drawn % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(drawn / 4 % 200));
    }
    next();
    lock.lock();
  }
}

}  // namespace lento::toy

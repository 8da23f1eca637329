#include "backends/toy/queue.h"

#include "base/usable_devices.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace lento::toy {

namespace {

std::atomic<std::uint64_t> delay_seed{0};
std::atomic<std::uint32_t> gate{0};  // odd: held; it changes whenever somebody should look again
std::atomic<Fault> fault_at{Fault::none};
std::atomic<int> until_fault{0};
constinit thread_local int cannot_fail = 0;  // how many CannotFail there are

/// Numbers that look random (splitmix64).
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

void set_delays(std::uint64_t seed) { delay_seed = seed; }

void hold(bool now) {
  gate = (gate + 2) / 2 * 2 + (now ? 1 : 0);
  gate.notify_all();
}

void fail_at(Fault fault, int after) {
  until_fault = after;
  fault_at = fault;
}

CannotFail::CannotFail() { ++cannot_fail; }
CannotFail::~CannotFail() { --cannot_fail; }
bool cannot_fail_here() { return cannot_fail != 0; }

bool failure_is_ahead() { return fault_at != Fault::none && until_fault >= 0; }

bool fails_here(Fault fault) { return fault_at == fault && until_fault.fetch_sub(1) == 0; }

void lose_and_wake(std::uint8_t device) {
  lose_device(device, "a test stopped it");
  gate += 2;
  gate.notify_all();
}

bool ToyFence::done() const noexcept {
  const std::lock_guard lock(mutex_);
  return done_;
}

void ToyFence::wait() const noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_; });
}

void ToyFence::then(FenceListener& listener) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!told_) {
      listener.next = nullptr;
      (first_ == nullptr ? first_ : last_->next) = &listener;
      last_ = &listener;
      return;
    }
  }
  listener.reached();
}

void ToyFence::reach() {
  std::unique_lock lock(mutex_);
  done_ = true;
  changed_.notify_all();
  while (first_ != nullptr) {
    FenceListener* next = std::exchange(first_, nullptr);
    lock.unlock();
    while (next != nullptr) std::exchange(next, next->next)->reached();
    lock.lock();
  }
  told_ = true;
}

void WorkQueue::push(Item item) {
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(item));
  if (!std::exchange(started_, true)) std::thread([this] { this->work(); }).detach();
  arrived_.notify_one();
}

void WorkQueue::push(std::function<void()> work) { push(Item{std::move(work), false}); }

void WorkQueue::record(std::shared_ptr<ToyFence> fence) {
  fence->queue = this;
  push(Item{[fence = std::move(fence)] { fence->reach(); }, true});
}

void WorkQueue::wait(const FenceRef& fence) {
  if (static_cast<const ToyFence&>(*fence).queue == this || fence->done()) return;
  push([fence] { fence->wait(); });
}

void WorkQueue::work() {
  std::uint64_t turn = number_ << 32;
  std::unique_lock lock(mutex_);
  while (true) {
    arrived_.wait(lock, [this] { return !work_.empty(); });
    const Item next = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    for (std::uint32_t seen = gate; seen % 2 != 0 && is_usable(device_); seen = gate) gate.wait(seen);
    if (fails_here(Fault::loss)) lose_and_wake(device_);
    if (const std::uint64_t seed = delay_seed; seed != 0) {
      const std::uint64_t drawn = mixed(seed + ++turn * 0x9e3779b97f4a7c15ULL);
      if (drawn % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(drawn / 4 % 200));
    }
    if (next.always || is_usable(device_)) next.work();
    lock.lock();
  }
}

}  // namespace lento::toy

#include "backends/toy/queue.h"

#include "base/usable_devices.h"

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <utility>

namespace lento::toy {

namespace {

std::atomic<std::uint64_t> delay_seed{0};
std::atomic<std::uint32_t> gate{0};  // odd: held; it changes whenever somebody should look again
std::atomic<Fault> fault_at{Fault::none};
std::atomic<int> until_fault{0};

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

bool failure_is_ahead() { return fault_at != Fault::none && until_fault >= 0; }

bool fails_here(Fault fault) { return fault_at == fault && until_fault.fetch_sub(1) == 0; }

void lose_and_wake(std::uint8_t device) {
  lose_device(device, "a test stopped it");
  gate += 2;
  gate.notify_all();
}

void WorkQueue::push(std::function<void()> work, bool always) {
  const std::lock_guard lock(mutex_);
  work_.push_back({std::move(work), always});
  if (!std::exchange(started_, true)) std::thread([this] { this->work(); }).detach();
  arrived_.notify_one();
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
      const std::uint64_t drawn = std::mt19937_64(seed + ++turn)();
      if (drawn % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(drawn / 4 % 200));
    }
    if (next.always || is_usable(device_)) next.work();
    lock.lock();
  }
}

}  // namespace lento::toy

#include "base/usable_devices.h"

#include "base/devices.h"
#include "base/fail.h"
#include "base/fork.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

namespace lento {

namespace {

struct Reasons {
  ForkMutex mutex{ForkOrder::devices};
  std::array<FailureRef, kMaxDevices> now;
  std::array<FailureRef, kMaxDevices> in_child;
  std::array<bool, kMaxDevices> told{};  // the user has heard of the loss

  Reasons() {
    call_in_child([] { get().start_in_child(); });
  }
  /// On the only thread there is.
  void start_in_child() {
    for (std::size_t device = 0; device < kMaxDevices; ++device) {
      if (!in_child[device]) continue;
      now[device] = in_child[device];
      unusable_devices.fetch_or(1U << device, std::memory_order_release);
    }
  }
  static Reasons& get() { return ProcessLifetime<Reasons>::get(); }
};

}  // namespace

constinit std::atomic<std::uint32_t> unusable_devices{0};

FailureRef why_unusable(std::uint8_t device) {
  if (is_usable(device)) return {};
  Reasons& reasons = Reasons::get();
  const std::lock_guard lock(reasons.mutex);
  return reasons.now[device];
}

bool is_first_to_tell(const FailureRef& loss) {
  Reasons& reasons = Reasons::get();
  const std::lock_guard lock(reasons.mutex);
  const auto found = std::ranges::find(reasons.now, loss);
  return found != reasons.now.end() && !std::exchange(reasons.told[found - reasons.now.begin()], true);
}

void fail_unusable(std::uint8_t device) {
  const FailureRef failure = why_unusable(device);
  Error::raise(failure->kind, complete_message(failure->message));
}

void lose_device(std::uint8_t device, std::string_view why) {
  FailureRef failure = Failure::make(
      ErrorKind::device_lost,
      fmt::format("{} is lost, with everything on it: {}", RegisteredDevice::of(device).to_string(), why), {});
  Reasons& reasons = Reasons::get();
  const std::lock_guard lock(reasons.mutex);
  if (!is_usable(device)) return;
  reasons.now[device] = std::move(failure);
  reasons.told[device] = false;
  unusable_devices.fetch_or(1U << device, std::memory_order_release);
}

void forbid_in_child(std::uint8_t device) {
  FailureRef failure = Failure::make(ErrorKind::device,
                                     fmt::format("{} was in use when the process forked: the child cannot use it",
                                                 RegisteredDevice::of(device).to_string()),
                                     {});
  Reasons& reasons = Reasons::get();
  const std::lock_guard lock(reasons.mutex);
  if (!reasons.in_child[device]) reasons.in_child[device] = std::move(failure);
}

void replace_lost_device(std::uint8_t device) {
  Reasons& reasons = Reasons::get();
  const std::lock_guard lock(reasons.mutex);
  if (!reasons.now[device] || reasons.now[device]->kind != ErrorKind::device_lost) return;
  reasons.now[device].reset();
  unusable_devices.fetch_and(~(1U << device), std::memory_order_release);
}

}  // namespace lento

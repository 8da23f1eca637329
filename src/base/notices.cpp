#include "base/notices.h"

#include "base/fork.h"

#include <atomic>
#include <mutex>
#include <utility>

namespace lento {

namespace {

struct Notices {
  ForkMutex mutex{ForkOrder::notes};
  std::vector<std::string> left;
};

std::atomic<bool> any{false};

Notices& notices() { return ProcessLifetime<Notices>::get(); }

}  // namespace

void leave_notice(std::string text) {
  Notices& all = notices();
  const std::lock_guard lock(all.mutex);
  all.left.push_back(std::move(text));
  any.store(true, std::memory_order_release);
}

std::vector<std::string> take_notices() {
  if (!any.load(std::memory_order_acquire)) return {};
  Notices& all = notices();
  const std::lock_guard lock(all.mutex);
  any.store(false, std::memory_order_release);
  return std::exchange(all.left, {});
}

}  // namespace lento

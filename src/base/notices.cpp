#include "base/notices.h"

#include "base/fork.h"

#include <atomic>
#include <mutex>
#include <utility>

namespace lento {

namespace {

struct Notices {
  std::mutex mutex;
  std::vector<std::string> left;
};

std::atomic<bool> any{false};

Notices& notices() {
  static auto* all = [] {
    auto* made = new Notices;  // workers may leave one while the process exits
    lock_while_forking(made->mutex, ForkOrder::notes);
    return made;
  }();
  return *all;
}

// Before there are threads: a fork in the middle of making it would leave the child with half of it.
[[maybe_unused]] const Notices& made_at_start = notices();

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

#include "base/counters.h"

#include "base/fail.h"
#include "base/fork.h"
#include "base/user_metrics.h"

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace lento {

namespace {

constexpr std::size_t kMostUserCounters = 1000;
constexpr std::size_t kLongestName = 200;

struct Registry {
  ForkMutex mutex{ForkOrder::counters};
  std::unordered_map<std::string, CounterId> ids;
  std::vector<std::string> names;
  std::vector<CounterBlock*> blocks;  // of living threads
  CounterBlock retired;               // sums of threads that ended
  CounterBlock baseline;              // what had been counted at the last reset
  std::map<std::string, std::uint64_t, std::less<>> user;
};

Registry& registry() { return ProcessLifetime<Registry>::get(); }

/// Set once the thread's BlockOwner is gone; trivially destructible, so it can still be read then.
constinit thread_local bool thread_ended = false;

/// Folds a thread's counts into the retired ones when the thread ends.
struct BlockOwner {
  std::unique_ptr<CounterBlock> block;

  ~BlockOwner() {
    if (block == nullptr) return;
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    for (CounterId i = 0; i < kMaxCounters; ++i) all.retired.values[i] += block->values[i];
    std::erase(all.blocks, block.get());
    current_counters = nullptr;
    thread_ended = true;
  }
};

/// Needs the registry's lock.
std::uint64_t total(const Registry& all, CounterId id) {
  std::uint64_t sum = all.retired.values[id];
  for (const CounterBlock* block : all.blocks) sum += __atomic_load_n(&block->values[id], __ATOMIC_RELAXED);
  return sum;
}

}  // namespace

constinit thread_local CounterBlock* current_counters = nullptr;

CounterBlock* make_counter_block() {
  auto block = std::make_unique<CounterBlock>();
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  current_counters = block.get();
  all.blocks.push_back(block.get());
  if (thread_ended) {
    // A count from a destructor that runs after ours: this block is never folded, so it must live on.
    return block.release();
  }
  static thread_local BlockOwner owner;
  owner.block = std::move(block);
  return current_counters;
}

namespace {

/// Needs the registry's lock.
CounterId add_counter(Registry& all, std::string name) {
  if (const auto it = all.ids.find(name); it != all.ids.end()) return it->second;
  if (all.names.size() == kMaxCounters) fail<BackendError>("there are already {} counters", kMaxCounters);
  const auto id = static_cast<CounterId>(all.names.size());
  all.names.push_back(name);
  all.ids.emplace(std::move(name), id);
  return id;
}

}  // namespace

void check_user_name(std::string_view name) {
  if (name.empty()) fail<ValueError>("the name is empty");
  if (name.size() > kLongestName)
    fail<ValueError>("the name has {} bytes; at most {} are allowed", name.size(), kLongestName);
}

CounterId counter_id(std::string_view name) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  return add_counter(all, std::string(name));
}

CounterId reserve_counters(CounterId count) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto first = static_cast<CounterId>(all.names.size());
  if (first + count > kMaxCounters) fail<BackendError>("there is no room for {} more counters", count);
  all.names.resize(first + count);
  return first;
}

void name_counter(CounterId id, std::string_view name) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.names[id] = name;
  all.ids.emplace(name, id);
}

void add_to_user_counter(std::string_view name, std::uint64_t n) {
  check_user_name(name);
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  auto it = all.user.find(name);
  if (it == all.user.end()) {
    if (all.ids.contains(std::string(name))) fail<ValueError>("'{}' is a counter of Lento's own", name);
    if (all.user.size() == kMostUserCounters) fail<ValueError>("there are already {} counters", kMostUserCounters);
    it = all.user.emplace(name, 0).first;
  }
  it->second += n;
}

std::uint64_t counter_value(std::string_view name) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (const auto own = all.user.find(name); own != all.user.end()) return own->second;
  const auto it = all.ids.find(std::string(name));
  return it == all.ids.end() ? 0 : total(all, it->second) - all.baseline.values[it->second];
}

std::map<std::string, std::uint64_t> counter_values() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::map<std::string, std::uint64_t> values;
  for (const auto& [name, value] : all.user) {
    if (value != 0) values[name] = value;
  }
  for (CounterId id = 0; id < all.names.size(); ++id) {
    if (const std::uint64_t value = total(all, id) - all.baseline.values[id]; value != 0) values[all.names[id]] = value;
  }
  return values;
}

void reset_counters() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (CounterId id = 0; id < kMaxCounters; ++id) all.baseline.values[id] = total(all, id);
  all.user.clear();
}

}  // namespace lento

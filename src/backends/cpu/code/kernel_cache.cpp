#include "backends/cpu/code/kernel_cache.h"

#include "backend/background.h"
#include "backends/cpu/code/kernel_files.h"
#include "backends/cpu/threads.h"
#include "base/counters.h"
#include "base/fork.h"

#include <algorithm>
#include <exception>
#include <list>
#include <unordered_map>

namespace lento::cpu {

namespace {

const CounterId kCompile = counter_id("kernel.compile");
const CounterId kHit = counter_id("kernel.hit");
const CounterId kTierUp = counter_id("kernel.tierup");
const CounterId kTierUpFailed = counter_id("kernel.tierup_failed");
const CounterId kEvict = counter_id("kernel.evict");

constexpr std::size_t kMaxKernels = 4096;

/// Kernels by hash, the most recently found first.
struct Cache {
  using Order = std::list<KernelRef>;

  ForkMutex mutex{ForkOrder::cache};
  Order order;
  std::unordered_multimap<std::uint64_t, Order::iterator> by_hash;

  KernelRef find_or_add(const Kernel& kernel, CodeTier tier) {
    const std::uint64_t key = hash(kernel);
    const std::lock_guard lock(mutex);
    const auto [first, last] = by_hash.equal_range(key);
    for (auto it = first; it != last; ++it) {
      if ((*it->second)->kernel() != kernel || (*it->second)->tier() != tier) continue;
      order.splice(order.begin(), order, it->second);
      count(kHit);
      return *it->second;
    }
    order.push_front(std::make_shared<CachedKernel>(kernel, tier));
    by_hash.emplace(key, order.begin());
    if (order.size() > kMaxKernels) evict();
    return order.front();
  }

 private:
  void evict() {
    const auto oldest = std::prev(order.end());
    const auto [first, last] = by_hash.equal_range(hash((*oldest)->kernel()));
    by_hash.erase(std::find_if(first, last, [&](const auto& entry) { return entry.second == oldest; }));
    order.erase(oldest);
    count(kEvict);
  }
};

Cache& cache() { return ProcessLifetime<Cache>::get(); }

}  // namespace

bool CachedKernel::ensure_compiled() {
  bool now = false;
  std::call_once(compiled_, [this, &now] {
    now = true;
    // Better code that is on disk is there at once; then there is nothing to improve.
    if (tier_ != CodeTier::zero) first_ = load_kernel(kernel_, Tier::one);
    if (first_ != nullptr) {
      std::call_once(improved_, [] {});
    } else if (tier_ != CodeTier::one) {
      first_ = load_kernel(kernel_, Tier::zero);
    }
    if (first_ == nullptr) {
      count(kCompile);
      first_ = compile_and_keep(kernel_, tier_ == CodeTier::one ? Tier::one : Tier::zero);
    }
    current_.store(first_.get(), std::memory_order_release);
  });
  return now;
}

void CachedKernel::note_use(std::uint32_t weight) {
  if (uses_.load(std::memory_order_relaxed) > kOften) return;
  const std::uint32_t before = uses_.fetch_add(weight, std::memory_order_relaxed);
  if (before > kOften || before + weight <= kOften || tier_ != CodeTier::automatic) return;
  run_later([self = shared_from_this()] {
    try {
      self->improve();
    } catch (const std::exception&) {
      count(kTierUpFailed);  // the first code goes on serving
    }
  });
}

void CachedKernel::improve() {
  std::call_once(improved_, [this] {
    better_ = load_kernel(kernel_, Tier::one);  // another process may have made it by now
    if (better_ == nullptr) better_ = compile_and_keep(kernel_, Tier::one);
    current_.store(better_.get(), std::memory_order_release);
    count(kTierUp);
  });
}

std::vector<KernelRef> find_kernels(const std::vector<Kernel>& kernels, CodeTier tier, std::size_t& compiled) {
  std::vector<KernelRef> found;
  found.reserve(kernels.size());
  for (const Kernel& kernel : kernels) found.push_back(cache().find_or_add(kernel, tier));
  std::atomic<std::size_t> missing = 0;
  parallel_for(static_cast<std::int64_t>(found.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) missing += found[static_cast<std::size_t>(i)]->ensure_compiled() ? 1 : 0;
  });
  compiled = missing;
  return found;
}

}  // namespace lento::cpu

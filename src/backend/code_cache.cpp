#include "backend/code_cache.h"

#include "backend/background.h"
#include "backend/kernel_identity.h"
#include "base/counters.h"
#include "base/fail.h"
#include "base/fork.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>

namespace lento {

namespace {

const CounterId kCompile = counter_id("kernel.compile");
const CounterId kHit = counter_id("kernel.hit");
const CounterId kTierUp = counter_id("kernel.tierup");
const CounterId kTierUpFailed = counter_id("kernel.tierup_failed");
const CounterId kEvict = counter_id("kernel.evict");

constexpr std::size_t kMaxKernels = 4096;

/// Guards what is in all caches: it must live as long as the process, which a cache need not.
struct CacheMutex : ForkMutex {
  CacheMutex() : ForkMutex(ForkOrder::cache) {}
};
std::mutex& cache_mutex() { return ProcessLifetime<CacheMutex>::get(); }

}  // namespace

void CodeMaker::for_each(std::size_t count, FunctionRef<void(std::size_t)> body) const {
  for (std::size_t i = 0; i < count; ++i) body(i);
}

CachedKernel::CachedKernel(Kernel kernel, CodeTier tier, CodeMakerRef maker, DiskCache* disk)
    : kernel_(std::move(kernel)),
      tier_(maker->has_tiers() ? tier : CodeTier::one),
      maker_(std::move(maker)),
      disk_(disk) {}

std::size_t CachedKernel::code_bytes() const {
  const LoadedCode& current = code();
  return current.code_bytes() + (&current == first_.get() ? 0 : first_->code_bytes());
}

LoadedCodeRef CachedKernel::load(Tier tier) const {
  if (!disk().enabled()) return nullptr;
  const std::vector<std::byte> identity = kernel_identity(kernel_, maker_->target(tier));
  if (identity.empty()) return nullptr;
  const std::optional<std::vector<std::byte>> bytes = disk().load(identity);
  if (!bytes) return nullptr;
  try {
    return maker_->load(kernel_, *bytes);
  } catch (const BackendError&) {
    return nullptr;  // it will be compiled and replaced
  }
}

LoadedCodeRef CachedKernel::compile(Tier tier) const {
  std::vector<std::byte> bytes = maker_->compile(kernel_, tier);
  LoadedCodeRef code = maker_->load(kernel_, bytes);
  if (disk().enabled()) {
    finish_later([&disk = disk(), identity = kernel_identity(kernel_, maker_->target(tier)), bytes = std::move(bytes)] {
      if (!identity.empty()) disk.store(identity, bytes);
    });
  }
  return code;
}

bool CachedKernel::ensure_compiled() {
  bool now = false;
  std::call_once(compiled_, [this, &now] {
    now = true;
    // Better code that is on disk is there at once; then there is nothing to improve.
    if (tier_ != CodeTier::zero) first_ = load(Tier::one);
    if (first_ != nullptr) {
      std::call_once(improved_, [] {});
    } else if (tier_ != CodeTier::one) {
      first_ = load(Tier::zero);
    }
    if (first_ == nullptr) {
      count(kCompile);
      first_ = compile(tier_ == CodeTier::one ? Tier::one : Tier::zero);
      if (tier_ == CodeTier::one) std::call_once(improved_, [] {});
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
    better_ = load(Tier::one);  // another process may have made it by now
    if (better_ == nullptr) better_ = compile(Tier::one);
    current_.store(better_.get(), std::memory_order_release);
    count(kTierUp);
  });
}

CachedKernelRef CodeCache::find_or_add(const Kernel& kernel, CodeTier tier) {
  const std::uint64_t key = hash(kernel);
  const std::lock_guard lock(cache_mutex());
  const auto [first, last] = by_hash_.equal_range(key);
  for (auto it = first; it != last; ++it) {
    if ((*it->second)->kernel() != kernel || (*it->second)->tier() != tier) continue;
    order_.splice(order_.begin(), order_, it->second);
    count(kHit);
    return *it->second;
  }
  Order added;
  added.push_front(std::make_shared<CachedKernel>(kernel, tier, maker_, disk_));
  by_hash_.emplace(key, added.begin());
  order_.splice(order_.begin(), added);  // behind all that may throw: each kernel stands in both, or in none
  if (order_.size() > kMaxKernels) evict();
  return order_.front();
}

void CodeCache::evict() {
  const auto oldest = std::prev(order_.end());
  const auto [first, last] = by_hash_.equal_range(hash((*oldest)->kernel()));
  by_hash_.erase(std::find_if(first, last, [&](const auto& entry) { return entry.second == oldest; }));
  order_.erase(oldest);
  count(kEvict);
}

std::vector<KernelBinaryRef> CodeCache::find(std::span<const Kernel> kernels, CodeTier tier, std::size_t& compiled) {
  if (!maker_->has_tiers()) tier = CodeTier::one;
  std::vector<CachedKernelRef> found;
  found.reserve(kernels.size());
  for (const Kernel& kernel : kernels) found.push_back(find_or_add(kernel, tier));
  std::atomic<std::size_t> missing = 0;
  maker_->for_each(found.size(), [&](std::size_t i) { missing += found[i]->ensure_compiled() ? 1 : 0; });
  compiled = missing;
  return {found.begin(), found.end()};
}

}  // namespace lento

#include "compiler/memory_plan.h"

#include "base/fail.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace lento {

namespace {

// Each tensor can be counted, the sum of several perhaps not.
constexpr std::size_t kMostBytes = std::numeric_limits<std::size_t>::max() / 4;

/// Free parts of the block, by offset; neighbours are always one.
class FreeList {
 public:
  std::size_t take(std::size_t bytes) {
    // The smallest part that is large enough: it leaves the least behind.
    auto best = parts_.end();
    for (auto it = parts_.begin(); it != parts_.end(); ++it) {
      if (it->second >= bytes && (best == parts_.end() || it->second < best->second)) best = it;
    }
    if (best == parts_.end()) return extend(bytes);
    const std::size_t offset = best->first;
    const std::size_t rest = best->second - bytes;
    parts_.erase(best);
    if (rest != 0) parts_.emplace(offset + bytes, rest);
    return offset;
  }

  void give_back(std::size_t offset, std::size_t bytes) {
    auto next = parts_.lower_bound(offset);
    if (next != parts_.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = parts_.erase(next);
    }
    if (next != parts_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    parts_.emplace(offset, bytes);
  }

  std::size_t end() const { return end_; }

 private:
  /// Makes the block longer, using what is free at its end.
  std::size_t extend(std::size_t bytes) {
    std::size_t offset = end_;
    if (!parts_.empty() && parts_.rbegin()->first + parts_.rbegin()->second == end_) {
      offset = parts_.rbegin()->first;
      parts_.erase(std::prev(parts_.end()));
    }
    if (bytes > kMostBytes - std::min(offset, kMostBytes)) {
      fail<MemoryError>("the temporaries of this step need more bytes than can be counted");
    }
    end_ = offset + bytes;
    return offset;
  }

  std::map<std::size_t, std::size_t> parts_;
  std::size_t end_ = 0;
};

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes, std::size_t alignment) {
  const auto aligned = [alignment](std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  MemoryPlan plan;
  plan.offsets.resize(lifetimes.size());
  std::vector<std::uint32_t> by_first(lifetimes.size());
  std::iota(by_first.begin(), by_first.end(), 0U);
  std::ranges::stable_sort(by_first, {}, [&](std::uint32_t i) { return lifetimes[i].first; });
  std::multimap<std::uint32_t, std::uint32_t> ending;  // by the last step: what is given back after it
  FreeList free;
  for (const std::uint32_t i : by_first) {
    while (!ending.empty() && ending.begin()->first < lifetimes[i].first) {
      const std::uint32_t over = ending.begin()->second;
      free.give_back(plan.offsets[over], aligned(lifetimes[over].bytes));
      ending.erase(ending.begin());
    }
    const std::size_t bytes = aligned(lifetimes[i].bytes);
    if (bytes == 0) continue;
    plan.offsets[i] = free.take(bytes);
    ending.emplace(lifetimes[i].last, i);
  }
  plan.bytes = free.end();
  return plan;
}

}  // namespace lento

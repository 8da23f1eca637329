// The plan cache: bounded in bytes, least recently used goes first, every hit verified by comparison (clause E2).
#pragma once

#include "executor/plan.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace lento {

class PlanCache;

/// The process's cache.
PlanCache& plan_cache();

class PlanCache {
 public:
  struct Info {
    std::size_t entries;
    std::size_t bytes;
    std::size_t limit;
  };

  explicit PlanCache(std::size_t limit) : limit_(limit) {}

  /// The plan of this structure, compiled if there is none. Threads that ask for the same new one at once compile it
  /// once. Throws what compiling throws; nothing is changed then.
  PlanPtr find_or_compile(Graph graph, std::uint8_t device);

  /// Plans that are in use live on until they are done.
  void clear();
  /// Forgets the plans with this key; true when there was one.
  bool remove(std::uint64_t key);
  Info info() const;
  void set_limit(std::size_t bytes);
  /// Changes whenever plans are forgotten on request, so that whoever remembers a plan can drop it.
  std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  /// The cached plans, most recently used first.
  std::vector<PlanPtr> plans() const;

 private:
  friend PlanCache& plan_cache();

  using Order = std::list<PlanPtr>;  // most recently used first

  PlanPtr find(const Graph& graph, std::uint8_t device, std::uint64_t hash);
  void insert(PlanPtr plan);
  void evict_over_limit();
  void forget(Order::iterator entry);

  mutable std::mutex mutex_;
  std::condition_variable compiled_;
  Order order_;
  std::unordered_multimap<std::uint64_t, Order::iterator> by_hash_;
  std::vector<const Graph*> compiling_;  // structures that a thread is compiling right now
  std::size_t bytes_ = 0;
  std::size_t limit_;
  std::atomic<std::uint64_t> epoch_{0};
};

}  // namespace lento

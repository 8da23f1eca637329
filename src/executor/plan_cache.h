// The plan cache: bounded in bytes, least recently used goes first, every hit verified by comparison (clause E2).
#pragma once

#include "executor/plan.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
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

  /// The plan of this structure, compiled by a worker if there is none. Threads that ask for the same new one at once
  /// compile it once. Throws what compiling throws; nothing is changed then. A caller that is interrupted leaves the
  /// compile going on.
  PlanPtr find_or_compile(const Graph& graph, std::uint8_t device);

  /// Plans that are in use live on until they are done.
  void clear();
  /// Forgets the plans with this key; true when there was one.
  bool remove(std::uint64_t key);
  Info info() const;
  void set_limit(std::size_t bytes);
  /// Changes whenever plans are forgotten on request, so that whoever remembers a plan can drop it.
  std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  /// At most this many of the cached plans, most recently used first.
  std::vector<PlanPtr> plans(std::size_t most) const;

 private:
  friend PlanCache& plan_cache();

  using Order = std::list<PlanPtr>;  // most recently used first
  using ByHash = std::unordered_multimap<std::uint64_t, Order::iterator>;

  /// A compile that is under way.
  struct Compilation;
  using CompilationPtr = std::shared_ptr<Compilation>;

  // These need the lock:
  PlanPtr find(const Graph& graph, std::uint8_t device, const CompileOptions* under, std::uint64_t hash);
  /// Whether a cached plan differs from this one by extents alone.
  bool knows_pattern(const Plan& plan) const;
  CompilationPtr find_compilation(const Graph& graph, std::uint8_t device, const CompileOptions* under) const;
  /// What there is no memory to find again is not kept: it serves whoever has asked for it.
  void insert(PlanPtr plan);
  void evict_over_limit();
  void forget(Order::iterator entry);
  std::vector<PlanPtr> recent(std::size_t most) const;

  // These do not:
  static CompilationPtr begin(const Graph& graph, std::uint8_t device, const CompileOptions* under, std::uint64_t hash);
  void compile(const CompilationPtr& work);

  mutable std::mutex mutex_;
  Order order_;
  ByHash by_hash_;
  ByHash by_pattern_;
  std::vector<CompilationPtr> compiling_;
  std::size_t bytes_ = 0;
  std::size_t limit_;
  std::atomic<std::uint64_t> epoch_{0};
};

}  // namespace lento

#include "executor/plan_cache.h"

#include "base/counters.h"
#include "base/fork.h"
#include "executor/explain.h"

#include <algorithm>
#include <chrono>

namespace lento {

namespace {

const CounterId kHit = counter_id("plan.hit");
const CounterId kMiss = counter_id("plan.miss");
const CounterId kEvict = counter_id("plan.evict");

constexpr std::size_t kDefaultLimit = std::size_t{256} << 20;

PlanPtr compile(Graph graph, std::uint8_t device, std::uint64_t hash) {
  const auto start = std::chrono::steady_clock::now();
  auto plan = std::make_shared<Plan>();
  plan->device = device;
  plan->hash = hash;
  plan->program = backend_of(device).compile(graph, device);
  plan->bytes = sizeof(Plan) + graph_bytes(graph) + plan->program->bytes();
  plan->graph = std::move(graph);
  plan->compile_milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return plan;
}

}  // namespace

PlanPtr PlanCache::find(const Graph& graph, std::uint8_t device, std::uint64_t hash) {
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const PlanPtr& plan = *it->second;
    if (plan->device != device || !same_structure(plan->graph, graph)) continue;
    order_.splice(order_.begin(), order_, it->second);
    return plan;
  }
  return nullptr;
}

PlanPtr PlanCache::find_or_compile(Graph graph, std::uint8_t device) {
  const std::uint64_t hash = structure_hash(graph, device);
  std::unique_lock lock(mutex_);
  while (true) {
    if (PlanPtr plan = find(graph, device, hash)) {
      count(kHit);
      return plan;
    }
    const bool under_way = std::ranges::any_of(compiling_, [&](const Graph* other) { return same_structure(*other, graph); });
    if (!under_way) break;
    compiled_.wait(lock);  // then look again: it may have failed, or been evicted at once
  }
  count(kMiss);
  compiling_.push_back(&graph);
  lock.unlock();
  PlanPtr plan;
  std::exception_ptr error;
  try {
    explain_miss(graph, device, plans());
    plan = compile(graph, device, hash);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  std::erase(compiling_, &graph);
  if (plan != nullptr) insert(plan);
  compiled_.notify_all();
  lock.unlock();
  if (error) std::rethrow_exception(error);
  return plan;
}

void PlanCache::insert(PlanPtr plan) {
  bytes_ += plan->bytes;
  order_.push_front(std::move(plan));
  by_hash_.emplace(order_.front()->hash, order_.begin());
  evict_over_limit();
}

void PlanCache::forget(Order::iterator entry) {
  const auto [first, last] = by_hash_.equal_range((*entry)->hash);
  const auto it = std::find_if(first, last, [&](const auto& pair) { return pair.second == entry; });
  by_hash_.erase(it);
  bytes_ -= (*entry)->bytes;
  order_.erase(entry);
}

void PlanCache::evict_over_limit() {
  while (bytes_ > limit_ && !order_.empty()) {
    forget(std::prev(order_.end()));
    count(kEvict);
  }
}

void PlanCache::clear() {
  const std::lock_guard lock(mutex_);
  by_hash_.clear();
  order_.clear();
  bytes_ = 0;
  epoch_.fetch_add(1, std::memory_order_acq_rel);
}

bool PlanCache::remove(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  bool found = false;
  for (auto it = order_.begin(); it != order_.end();) {
    const auto entry = it++;
    if ((*entry)->hash != key) continue;
    forget(entry);
    found = true;
  }
  if (found) epoch_.fetch_add(1, std::memory_order_acq_rel);
  return found;
}

PlanCache::Info PlanCache::info() const {
  const std::lock_guard lock(mutex_);
  return {order_.size(), bytes_, limit_};
}

void PlanCache::set_limit(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
  evict_over_limit();
}

std::vector<PlanPtr> PlanCache::plans() const {
  const std::lock_guard lock(mutex_);
  return {order_.begin(), order_.end()};
}

PlanCache& plan_cache() {
  static auto* cache = [] {
    auto* made = new PlanCache(kDefaultLimit);  // runs may end while the process exits
    lock_while_forking(made->mutex_, ForkOrder::cache);
    return made;
  }();
  return *cache;
}

}  // namespace lento

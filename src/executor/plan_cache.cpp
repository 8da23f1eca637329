#include "executor/plan_cache.h"

#include "base/counters.h"
#include "base/fail.h"
#include "base/fork.h"
#include "base/notices.h"
#include "base/timings.h"
#include "base/value.h"
#include "executor/explain.h"
#include "executor/warn.h"
#include "executor/workers.h"
#include "runtime/make_program.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <new>
#include <utility>

namespace lento {

namespace {

const CounterId kHit = counter_id("plan.hit");
const CounterId kMiss = counter_id("plan.miss");
const CounterId kRebind = counter_id("plan.rebind");
const CounterId kEvict = counter_id("plan.evict");
const TimingId kCompileTime = timing_id("plan.compile");

constexpr std::size_t kDefaultLimit = std::size_t{256} << 20;

constexpr std::size_t kCandidates = 64;  // plans that an explanation looks at

}  // namespace

struct PlanCache::Compilation {
  PlanPtr plan;        // everything but the program is there from the start
  FailureRef failure;  // set instead of the program
  bool known_pattern = false;
  CompletionRef done = Completion::make();
};

PlanPtr PlanCache::find(const Graph& graph, std::uint8_t device, const CompileOptions* under, std::uint64_t hash) {
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const PlanPtr& plan = *it->second;
    if (plan->device != device || plan->options != under || !same_structure(plan->graph, graph)) continue;
    order_.splice(order_.begin(), order_, it->second);
    return plan;
  }
  return nullptr;
}

bool PlanCache::knows_pattern(const Plan& plan) const {
  const auto [first, last] = by_pattern_.equal_range(plan.pattern);
  return std::any_of(first, last, [&](const auto& entry) {
    const Plan& other = **entry.second;
    return other.device == plan.device && other.options == plan.options && same_pattern(other.graph, plan.graph);
  });
}

PlanCache::CompilationPtr PlanCache::find_compilation(const Graph& graph, std::uint8_t device,
                                                      const CompileOptions* under) const {
  for (const CompilationPtr& work : compiling_) {
    const Plan& plan = *work->plan;
    if (plan.device == device && plan.options == under && same_structure(plan.graph, graph)) return work;
  }
  return nullptr;
}

PlanPtr PlanCache::find_or_compile(const Graph& graph, std::uint8_t device) {
  const std::uint64_t hash = structure_hash(graph, device);
  const CompileOptions* const under = compile_options();
  CompilationPtr mine;
  CompilationPtr work;
  std::function<void()> task;  // made before the compile is announced, for that must not fail afterwards
  std::vector<PlanPtr> others;
  while (work == nullptr) {
    const NoForkNow no_fork;  // a compile that is announced must be submitted
    {
      const std::lock_guard lock(mutex_);
      if (PlanPtr plan = find(graph, device, under, hash)) {
        count(kHit);
        return plan;
      }
      work = find_compilation(graph, device, under);
      if (work == nullptr && mine != nullptr) {
        others = recent(kCandidates);
        mine->known_pattern = knows_pattern(*mine->plan);
        compiling_.push_back(mine);
        work = mine;
      }
    }
    if (work == nullptr) {
      mine = begin(graph, device, under, hash);  // large graphs are copied without the lock
      task = [this, compilation = mine] { compile(compilation); };
    } else if (work == mine) {
      // On a worker, so that a caller can be interrupted while it waits.
      submit(Workers::compile, std::move(task));  // moved: a copy would allocate
      break;
    }
  }
  work->done->wait();
  if (work == mine) {
    // Code knows no extents: a step that differs from an earlier one by them alone has its kernels already (clause E4).
    const bool rebound = work->known_pattern && !work->failure && work->plan->program->compiled_kernels() == 0;
    count(rebound ? kRebind : kMiss);
    explain_compile(graph, device, others, rebound);
  }
  for (const std::string& notice : take_notices()) warn(WarningKind::other, notice);
  // An exception of its own for each thread that waited, with that thread's line.
  if (work->failure) Error::raise(work->failure->kind, complete_message(work->failure->message));
  if (work != mine) count(kHit);
  return work->plan;
}

PlanCache::CompilationPtr PlanCache::begin(const Graph& graph, std::uint8_t device, const CompileOptions* under,
                                           std::uint64_t hash) {
  auto work = std::make_shared<Compilation>();
  work->plan = std::make_shared<Plan>();
  work->plan->graph = graph;
  work->plan->device = device;
  work->plan->options = under;
  work->plan->hash = hash;
  work->plan->pattern = pattern_hash(graph, device);
  return work;
}

void PlanCache::compile(const CompilationPtr& work) {
  Plan& plan = *work->plan;
  const auto start = std::chrono::steady_clock::now();
  // Where there is no thread for it, the caller compiles. The thread that waits adds the function
  // and the line to the message; compile() must not.
  const CallContext caller = std::exchange(call_context(), CallContext{});
  try {
    plan.program = make_program(plan.graph, plan.device, *plan.options);
    plan.bytes = sizeof(Plan) + graph_bytes(plan.graph) + plan.program->bytes();
  } catch (const Error& error) {
    work->failure = Failure::make(error.kind(), error.what(), {});
  } catch (const std::bad_alloc&) {
    work->failure = Failure::make(ErrorKind::memory, "out of memory while compiling", {});
  } catch (const std::exception& error) {
    work->failure = Failure::make(ErrorKind::backend, error.what(), {});
  }
  call_context() = caller;
  const auto duration = std::chrono::steady_clock::now() - start;
  plan.compile_seconds = std::chrono::duration<double>(duration).count();
  record_timing(kCompileTime, duration);
  {
    const std::lock_guard lock(mutex_);
    std::erase(compiling_, work);
    if (!work->failure) insert(work->plan);
  }
  work->done->finish();
}

void PlanCache::insert(PlanPtr plan) {
  Order added;
  ByHash::iterator hashed = by_hash_.end();
  try {
    added.push_front(std::move(plan));
    hashed = by_hash_.emplace(added.front()->hash, added.begin());
    by_pattern_.emplace(added.front()->pattern, added.begin());
  } catch (const std::bad_alloc&) {
    if (hashed != by_hash_.end()) by_hash_.erase(hashed);
    return;
  }
  order_.splice(order_.begin(), added);
  bytes_ += order_.front()->bytes;
  evict_over_limit();
}

void PlanCache::forget(Order::iterator entry) {
  const auto forget_in = [&entry](ByHash& map, std::uint64_t key) {
    const auto [first, last] = map.equal_range(key);
    map.erase(std::find_if(first, last, [&](const auto& pair) { return pair.second == entry; }));
  };
  forget_in(by_hash_, (*entry)->hash);
  forget_in(by_pattern_, (*entry)->pattern);
  bytes_ -= (*entry)->bytes;
  order_.erase(entry);
}

void PlanCache::evict_over_limit() {
  std::size_t spared = 0;
  while (bytes_ > limit_ && !order_.empty()) {
    const auto oldest = std::prev(order_.end());
    if (spared < order_.size() && (*oldest)->used.exchange(false, std::memory_order_relaxed)) {
      ++spared;
      order_.splice(order_.begin(), order_, oldest);
      continue;
    }
    forget(oldest);
    count(kEvict);
  }
}

void PlanCache::clear() {
  const std::lock_guard lock(mutex_);
  by_hash_.clear();
  by_pattern_.clear();
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

std::vector<PlanPtr> PlanCache::plans(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  return recent(most);
}

std::vector<PlanPtr> PlanCache::recent(std::size_t most) const {
  std::vector<PlanPtr> list;
  for (auto it = order_.begin(); it != order_.end() && list.size() < most; ++it) list.push_back(*it);
  return list;
}

PlanCache& plan_cache() {
  static auto* cache = [] {
    auto* made = new PlanCache(kDefaultLimit);  // runs may end while the process exits
    lock_while_forking(made->mutex_, ForkOrder::cache);
    return made;
  }();
  return *cache;
}

namespace {

// Before there are threads: a fork in the middle of making it would leave the child with half of it.
[[maybe_unused]] const PlanCache& made_at_start = plan_cache();

}  // namespace

}  // namespace lento

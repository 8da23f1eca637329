// The public functions that show what is pending, alive, cached and counted (include/lento/{cache,memory,metrics}.h and
// dump).
#include <lento/cache.h>
#include <lento/eval.h>
#include <lento/memory.h>
#include <lento/metrics.h>

#include "backend/background.h"
#include "backend/disk_cache.h"
#include "base/counters.h"
#include "base/devices.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/timings.h"
#include "base/usable_devices.h"
#include "base/user_metrics.h"
#include "executor/evaluate.h"
#include "executor/plan_cache.h"
#include "ir/graph.h"
#include "tensor/tapes.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>

namespace lento {

namespace {

std::vector<TensorState*> states_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorState*> states;
  for (const Tensor& tensor : tensors) states.push_back(&state_of(tensor));
  return states;
}

}  // namespace

std::string dump(const std::vector<Tensor>& tensors, DumpFormat format, std::source_location site) {
  const CallScope scope("dump", site);
  const PendingGraph pending = pending_graph(states_of(tensors));
  if (format != DumpFormat::backend) return to_string(pending.graph, static_cast<GraphFormat>(format));
  return pending.graph.nodes.empty() ? ""
                                     : plan_cache().find_or_compile(pending.graph, pending.device)->program->text();
}

// --- plans ---

std::uint64_t graph_key(const std::vector<Tensor>& tensors, std::source_location site) {
  const CallScope scope("graph_key", site);
  const PendingGraph pending = pending_graph(states_of(tensors));
  return pending.graph.nodes.empty() ? 0 : structure_hash(pending.graph, pending.device);
}

namespace cache {

Info info() {
  const PlanCache::Info now = plan_cache().info();
  let_finish();  // what is compiled counts as kept
  DiskCache& disk = disk_cache();
  return {now.entries, now.bytes, now.limit, disk.folder(), disk.enabled() ? disk.bytes() : 0, disk.limit()};
}
void clear(bool disk) {
  plan_cache().clear();
  if (!disk) return;
  let_finish();
  disk_cache().clear();
}
bool remove(std::uint64_t key) { return plan_cache().remove(key); }
void set_limit(std::size_t bytes) { plan_cache().set_limit(bytes); }
void set_disk_limit(std::size_t bytes) {
  let_finish();
  disk_cache().set_limit(bytes);
}

std::vector<PlanInfo> plans() {
  std::vector<PlanInfo> list;
  for (const PlanPtr& plan : plan_cache().plans(std::numeric_limits<std::size_t>::max())) {
    list.push_back({plan->hash, RegisteredDevice::of(plan->device), plan->graph.nodes.size(), plan->graph.inputs.size(),
                    plan->graph.outputs.size(), plan->program->kernels(), plan->program->code_bytes(),
                    plan->program->planned_peak(), plan->compile_seconds});
  }
  return list;
}

}  // namespace cache

// --- memory ---

MemoryUse memory(Device device) {
  const MemoryAccount& account = memory_account(device.id());
  return {account.in_use(), account.cached.load(), account.peak.load(), account.limit.load()};
}
void reset_peak_memory(Device device) { memory_account(device.id()).reset_peak(); }
void set_memory_limit(std::int64_t bytes, Device device, std::source_location site) {
  const CallScope scope("set_memory_limit", site);
  if (bytes < 0) fail<ValueError>("{} bytes are less than none; 0 takes the limit away", bytes);
  memory_account(device.id()).limit.store(static_cast<std::size_t>(bytes));
}

std::vector<LiveTensor> live_tensors(std::optional<Device> wanted) {
  struct Found {
    DType dtype;
    ShapeId shape;
    const char* state;
    Source source;
    Device device;
  };
  std::map<std::uint64_t, Found> found;
  // Tapes before values: what leaves a tape in the meantime is found there.
  for (const Device device : wanted ? std::vector{*wanted} : devices()) {
    const char* const waits = is_usable(device.id()) ? "pending" : "failed";
    for (Tape* tape : all_tapes(device.id())) {
      const TapeGuard guard(*tape);
      for (std::uint32_t i = 0; i < tape->size(); ++i) {
        const TensorState* state = tape->handle(i);
        if (state != nullptr)
          found.insert_or_assign(state->id, Found{state->dtype, state->shape, waits, tape->source(i), device});
      }
    }
  }
  for (const ValueRef& value : every_value()) {
    const std::uint64_t id = value->tensor_id.load(std::memory_order_relaxed);
    const Device device = RegisteredDevice::of(value->kind.device);
    if (id == 0 || (wanted && device != *wanted)) continue;
    const bool failed = value->settled() && (value->failure || !is_usable(device.id()));
    const char* state = !value->settled() ? "running" : failed ? "failed" : "ready";
    found.insert_or_assign(id, Found{value->kind.dtype, value->kind.shape, state, value->kind.source, device});
  }
  // Lines are turned into text without any lock: a front end's resolver may need locks of its own.
  std::vector<LiveTensor> list;
  for (const auto& [id, tensor] : found) {
    list.push_back({id, tensor.dtype, shape_of(tensor.shape), tensor.state, to_string(tensor.source), tensor.device});
  }
  return list;
}

// --- counters and timings ---

namespace metrics {

namespace {

std::string duration_text(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

}  // namespace

std::uint64_t counter(std::string_view name) { return counter_value(name); }
std::map<std::string, std::uint64_t> counters() { return counter_values(); }

std::map<std::string, Timing> timings() {
  std::map<std::string, Timing> all;
  for (const auto& [name, t] : timing_summaries()) {
    all[name] = {t.count, t.total_seconds, t.median_seconds, t.p90_seconds, t.p99_seconds, t.max_seconds};
  }
  return all;
}

Timing timing(std::string_view name) {
  const std::map<std::string, Timing> all = timings();
  const auto it = all.find(std::string(name));
  return it == all.end() ? Timing{} : it->second;
}

void add(std::string_view name, std::uint64_t n, std::source_location site) {
  const CallScope scope("add", site);
  add_to_user_counter(name, n);
}

void record(std::string_view name, double seconds, std::source_location site) {
  const CallScope scope("record", site);
  constexpr double kLongest = 1e9;  // thirty years, so that nanoseconds fit into 64 bits
  if (!(seconds >= 0 && seconds <= kLongest)) fail<ValueError>("{} seconds are no duration", seconds);
  record_user_timing(name, std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9)));
}

Timed::Timed(std::string_view name, std::source_location site) : name_(name) {
  const CallScope scope("Timed", site);
  check_user_timing(name);
  start_ = std::chrono::steady_clock::now();
}

Timed::~Timed() {
  const auto duration = std::chrono::steady_clock::now() - start_;
  try {
    record_user_timing(name_, duration);
  } catch (const std::exception&) {
    return;  // others have taken all names meanwhile, or there is no memory: a destructor cannot tell
  }
}

std::string report() {
  std::string text = fmt::format("{:<28} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "timing", "count", "total",
                                 "median", "90 %", "99 %", "max");
  for (const auto& [name, t] : timings()) {
    text += fmt::format("{:<28} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", name, t.count,
                        duration_text(t.total_seconds), duration_text(t.median_seconds), duration_text(t.p90_seconds),
                        duration_text(t.p99_seconds), duration_text(t.max_seconds));
  }
  text += fmt::format("\n{:<28} {:>10}\n", "counter", "value");
  for (const auto& [name, value] : counters()) text += fmt::format("{:<28} {:>10}\n", name, value);
  text += fmt::format("\n{:<28} {:>10} {:>10} {:>10} {:>10}\n", "memory (bytes)", "live", "cached", "peak", "limit");
  for (const Device device : devices()) {
    const MemoryUse use = memory(device);
    text += fmt::format("{:<28} {:>10} {:>10} {:>10} {:>10}\n", device.to_string(), use.live, use.cached, use.peak,
                        use.limit == 0 ? "none" : std::to_string(use.limit));
  }
  const PlanCache::Info plans = plan_cache().info();
  text += fmt::format("\n{} plans of {} bytes in the cache, limit {}.\n", plans.entries, plans.bytes, plans.limit);
  return text;
}

void reset() {
  reset_counters();
  reset_timings();
}

}  // namespace metrics
}  // namespace lento

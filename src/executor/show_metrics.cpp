// The public functions that show counters and timings (include/lento/metrics.h).
#include <lento/memory.h>
#include <lento/metrics.h>

#include "base/counters.h"
#include "base/devices.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/source.h"
#include "base/timings.h"
#include "base/user_metrics.h"
#include "executor/plan_cache.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

namespace lento {

namespace metrics {

namespace {

std::string duration_text(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

Timing shown(const TimingSummary& t) {
  return {t.count, t.total_seconds, t.median_seconds, t.p90_seconds, t.p99_seconds, t.max_seconds};
}

}  // namespace

std::uint64_t counter(std::string_view name) { return counter_value(name); }
std::map<std::string, std::uint64_t> counters() { return counter_values(); }

std::map<std::string, Timing> timings() {
  std::map<std::string, Timing> all;
  for (const auto& [name, summary] : timing_summaries()) all[name] = shown(summary);
  return all;
}

Timing timing(std::string_view name) { return shown(timing_summary(name)); }

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

#include "base/timings.h"

#include "base/fail.h"
#include "base/fork.h"
#include "base/user_metrics.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace lento {

namespace {

constexpr std::size_t kMaxTimings = 32;
constexpr std::size_t kMostUserTimings = 100;  // of 8 KiB each

struct Series {
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t total = 0;
  std::array<std::uint64_t, kTimingWindow> last{};  // nanoseconds; a ring, at count % kTimingWindow

  std::size_t kept() const { return static_cast<std::size_t>(std::min<std::uint64_t>(count, kTimingWindow)); }
};

struct Registry {
  // One for all: it is held for some nanoseconds, twice a step. Nobody sorts under it: it is not fair, and a thread
  // that reads in a loop would keep it from those that record.
  ForkMutex mutex{ForkOrder::counters};
  std::size_t used = 0;
  std::array<Series, kMaxTimings> series;
  std::map<std::string, std::unique_ptr<Series>, std::less<>> user;

  /// Null when there is none. Needs the lock.
  Series* find(std::string_view name) {
    const std::span own(series.data(), used);
    if (const auto found = std::ranges::find(own, name, &Series::name); found != own.end()) return &*found;
    const auto users = user.find(name);
    return users == user.end() ? nullptr : users->second.get();
  }
};

Registry& registry() { return ProcessLifetime<Registry>::get(); }

/// What a series holds, copied under the lock and looked at without it.
struct Copied {
  std::uint64_t count = 0;
  std::uint64_t total = 0;
  std::vector<std::uint64_t> durations;

  /// Makes room; without the lock.
  Copied() { durations.reserve(kTimingWindow); }
  /// Needs the lock.
  void take(const Series& series) {
    count = series.count;
    total = series.total;
    durations.assign(series.last.begin(), series.last.begin() + static_cast<std::ptrdiff_t>(series.kept()));
  }

  TimingSummary summary() {
    if (count == 0) return {};
    std::ranges::sort(durations);
    // The smallest duration that at least this share of them does not exceed.
    const auto percentile = [&](std::size_t percent) {
      return static_cast<double>(durations[(durations.size() * percent + 99) / 100 - 1]) * 1e-9;
    };
    return {count, static_cast<double>(total) * 1e-9, percentile(50), percentile(90), percentile(99), percentile(100)};
  }
};

void append(Series& series, std::uint64_t nanoseconds) {
  series.last[series.count++ % kTimingWindow] = nanoseconds;
  series.total += nanoseconds;
}

/// Needs the registry's lock.
void check_new(Registry& all, std::string_view name) {
  if (all.find(name) != nullptr) fail<ValueError>("'{}' is a timing of Lento's own", name);
  if (all.user.size() == kMostUserTimings) fail<ValueError>("there are already {} timings", kMostUserTimings);
}

}  // namespace

TimingId timing_id(std::string_view name) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (std::size_t i = 0; i < all.used; ++i) {
    if (all.series[i].name == name) return static_cast<TimingId>(i);
  }
  if (all.used == kMaxTimings) fail<BackendError>("there are already {} timings", kMaxTimings);
  all.series[all.used].name = name;
  return static_cast<TimingId>(all.used++);
}

void record_timing(TimingId id, std::chrono::nanoseconds duration) {
  const auto nanoseconds = static_cast<std::uint64_t>(duration.count());
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  append(all.series[id], nanoseconds);
}

void record_user_timing(std::string_view name, std::chrono::nanoseconds duration) {
  check_user_name(name);
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  auto it = all.user.find(name);
  if (it == all.user.end()) {
    check_new(all, name);
    it = all.user.emplace(name, std::make_unique<Series>()).first;
  }
  append(*it->second, static_cast<std::uint64_t>(duration.count()));
}

void check_user_timing(std::string_view name) {
  check_user_name(name);
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (!all.user.contains(name)) check_new(all, name);
}

TimingSummary timing_summary(std::string_view name) {
  Copied copied;
  {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    if (const Series* const series = all.find(name)) copied.take(*series);
  }
  return copied.summary();
}

std::map<std::string, TimingSummary> timing_summaries() {
  std::vector<std::string> names;
  {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    for (std::size_t i = 0; i < all.used; ++i) {
      if (all.series[i].count != 0) names.push_back(all.series[i].name);
    }
    for (const auto& [name, series] : all.user) names.push_back(name);
  }
  std::map<std::string, TimingSummary> summaries;
  for (const std::string& name : names) {
    if (const TimingSummary summary = timing_summary(name); summary.count != 0) summaries[name] = summary;
  }
  return summaries;
}

void reset_timings() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (std::size_t i = 0; i < all.used; ++i) {
    all.series[i].count = 0;
    all.series[i].total = 0;
  }
  all.user.clear();
}

}  // namespace lento

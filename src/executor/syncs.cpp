#include "executor/syncs.h"

#include "base/fail.h"
#include "base/fork.h"
#include "executor/warn.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace lento {

namespace {

constexpr std::size_t kMaxLines = 1000;  // more than anybody reads

using Line = std::pair<const void*, std::uint32_t>;

struct Waits {
  std::uint64_t times = 0;
  std::chrono::nanoseconds total{0};

  void operator+=(const Waits& more) {
    times += more.times;
    total += more.total;
  }
};

struct Notes {
  ForkMutex mutex{ForkOrder::notes};
  // Since the last describe_syncs:
  std::map<Line, std::uint64_t> syncs;
  std::map<std::pair<WaitKind, Line>, Waits> waits;
  std::set<std::string> warned;  // lines as text: a front end's positions are finer than lines
};
Notes& notes() { return ProcessLifetime<Notes>::get(); }

std::atomic<SyncMode> mode{SyncMode::allow};
std::atomic<bool> mode_of_waits{false};

constexpr const char* kAdvice =
    "reading a pending tensor evaluates it here and waits; call lento.step() or lento.eval() earlier, or read it in a "
    "step closure";
constexpr const char* kWaitAdvice =
    "reading a tensor that is being computed waits for it here; read it some steps later, or in a step closure";

/// Adds to a line's entry; lines beyond kMaxLines are left out.
template <class Map>
void add(Map& map, const typename Map::key_type& key, const typename Map::mapped_type& more) {
  if (map.size() < kMaxLines || map.contains(key)) map[key] += more;
}

/// True the first time for each line.
bool is_new(const Source& source) {
  std::string line = to_string(source);  // without the lock: a front end's resolver may need locks of its own
  Notes& all = notes();
  const std::lock_guard lock(all.mutex);
  return all.warned.size() < kMaxLines && all.warned.insert(std::move(line)).second;
}

std::string line_text(const Line& line) {
  std::string text = to_string(Source{line.first, line.second, 0});
  return text.empty() ? "an unknown line" : text;
}

std::string times_text(std::uint64_t times) { return fmt::format("{} time{}", times, times == 1 ? "" : "s"); }

/// The same line of a front end has many positions.
std::string describe_waits(const std::map<std::pair<WaitKind, Line>, Waits>& waits) {
  std::map<std::pair<WaitKind, std::string>, Waits> by_line;
  for (const auto& [key, wait] : waits) by_line[{key.first, line_text(key.second)}] += wait;
  std::vector<std::pair<std::pair<WaitKind, std::string>, Waits>> sorted(by_line.begin(), by_line.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(), [](const auto& entry) { return entry.second.total; });
  std::string text;
  for (const auto& [key, wait] : sorted) {
    const auto& [kind, where] = key;
    const double seconds = std::chrono::duration<double>(wait.total).count();
    text += fmt::format(
        "Waited {} for {}, {} at {}.\n",
        seconds < 0.1 ? fmt::format("{:.2f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds),
        kind == WaitKind::value ? "a value that was being computed" : "room, with max_inflight_steps steps under way",
        times_text(wait.times), where);
  }
  return text;
}

}  // namespace

void note_sync(const Source& source) {
  {
    Notes& all = notes();
    const std::lock_guard lock(all.mutex);
    add(all.syncs, {source.unit, source.position}, 1);
  }
  const SyncMode now = mode.load(std::memory_order_relaxed);
  if (now == SyncMode::error) fail<BackendError>("{}", kAdvice);
  if (now == SyncMode::warn && is_new(source)) warn(WarningKind::sync, complete_message(kAdvice));
}

void warn_of_wait(const Source& source) {
  if (sync_mode() == SyncMode::warn && warns_of_waits() && is_new(source)) {
    warn(WarningKind::sync, complete_message(kWaitAdvice));
  }
}

void note_wait(WaitKind kind, const Source& source, std::chrono::nanoseconds duration) {
  Notes& all = notes();
  const std::lock_guard lock(all.mutex);
  add(all.waits, {kind, {source.unit, source.position}}, {1, duration});
}

std::string describe_syncs() {
  std::map<Line, std::uint64_t> syncs;
  std::map<std::pair<WaitKind, Line>, Waits> waits;
  {
    Notes& all = notes();
    const std::lock_guard lock(all.mutex);
    syncs.swap(all.syncs);
    waits.swap(all.waits);
  }
  std::string text = describe_waits(waits);
  std::map<std::string, std::uint64_t> by_line;
  for (const auto& [line, times] : syncs) by_line[line_text(line)] += times;
  for (const auto& [where, times] : by_line) {
    text += fmt::format("Waited for a value {} at {}.\n", times_text(times), where);
  }
  return text;
}

SyncMode sync_mode() { return mode.load(std::memory_order_relaxed); }
bool warns_of_waits() { return mode_of_waits.load(std::memory_order_relaxed); }

void set_sync_mode(SyncMode changed, bool waits_too) {
  mode.store(changed, std::memory_order_relaxed);
  mode_of_waits.store(waits_too, std::memory_order_relaxed);
  Notes& all = notes();
  const std::lock_guard lock(all.mutex);
  all.warned.clear();
}

}  // namespace lento

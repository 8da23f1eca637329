#include "executor/syncs.h"

#include "base/fail.h"
#include "base/fork.h"
#include "executor/warn.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace lento {

namespace {

constexpr std::size_t kMaxLines = 1000;  // more than anybody reads

using Line = std::pair<const void*, std::uint32_t>;

struct Notes {
  ForkMutex mutex{ForkOrder::notes};
  std::map<Line, std::uint64_t> counts;  // since the last describe_syncs
  std::set<std::string> warned;          // lines as text: a front end's positions are finer than lines
};
Notes& notes() { return Lasting<Notes>::get(); }

std::atomic<SyncMode> mode{SyncMode::allow};

constexpr const char* kAdvice =
    "reading a pending tensor evaluates it here and waits; call lento.step() or lento.eval() earlier, or read it in a "
    "step closure";

void count_line(const Line& line) {
  Notes& all = notes();
  const std::lock_guard lock(all.mutex);
  if (all.counts.size() < kMaxLines || all.counts.contains(line)) ++all.counts[line];
}

/// True the first time for each line.
bool is_new(const Source& source) {
  std::string line = to_string(source);  // without the lock: a front end's resolver may need locks of its own
  Notes& all = notes();
  const std::lock_guard lock(all.mutex);
  return all.warned.size() < kMaxLines && all.warned.insert(std::move(line)).second;
}

}  // namespace

void note_sync(const Source& source) {
  count_line({source.unit, source.position});
  const SyncMode now = mode.load(std::memory_order_relaxed);
  if (now == SyncMode::error) fail<BackendError>("{}", kAdvice);
  if (now == SyncMode::warn && is_new(source)) warn(WarningKind::sync, complete_message(kAdvice));
}

std::string describe_syncs() {
  std::map<Line, std::uint64_t> counts;
  {
    Notes& all = notes();
    const std::lock_guard lock(all.mutex);
    counts.swap(all.counts);
  }
  std::map<std::string, std::uint64_t> by_line;
  for (const auto& [line, times] : counts) by_line[to_string(Source{line.first, line.second, 0})] += times;
  std::string text;
  for (const auto& [where, times] : by_line) {
    text += fmt::format("Waited for a value {} time{} at {}.\n", times, times == 1 ? "" : "s",
                        where.empty() ? "an unknown line" : where);
  }
  return text;
}

SyncMode sync_mode() { return mode.load(std::memory_order_relaxed); }

void set_sync_mode(SyncMode changed) {
  mode.store(changed, std::memory_order_relaxed);
  Notes& all = notes();
  const std::lock_guard lock(all.mutex);
  all.warned.clear();
}

}  // namespace lento

// How long things took: a count, a total and the last 1024 durations of each kind. For steps, compiles and waits, not
// for ops: recording one takes about 50 ns.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace lento {

using TimingId = std::uint32_t;

inline constexpr std::size_t kTimingWindow = 1024;

/// Finds or makes the timing of this name. Throws BackendError when there are too many.
TimingId timing_id(std::string_view name);
void record_timing(TimingId id, std::chrono::nanoseconds duration);

struct TimingSummary {
  std::uint64_t count = 0;
  double total_seconds = 0;
  // Of the last kTimingWindow durations:
  double median_seconds = 0;
  double p90_seconds = 0;
  double p99_seconds = 0;
  double max_seconds = 0;
};
/// What happened since the last reset under this name; all zero when nothing did. Whoever asks again and again holds up
/// those that record for as long as one series takes to copy.
TimingSummary timing_summary(std::string_view name);
/// Those that happened since the last reset, by name.
std::map<std::string, TimingSummary> timing_summaries();
void reset_timings();

/// Times from its construction to its destruction.
class TimedSection {
 public:
  explicit TimedSection(TimingId id) : id_(id), start_(std::chrono::steady_clock::now()) {}
  ~TimedSection() { record_timing(id_, so_far()); }
  std::chrono::nanoseconds so_far() const { return std::chrono::steady_clock::now() - start_; }
  TimedSection(const TimedSection&) = delete;
  TimedSection& operator=(const TimedSection&) = delete;

 private:
  TimingId id_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace lento

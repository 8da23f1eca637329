// Seeing what happens (clauses M1 and M3): counters, timings, and explanations in plain sentences. Always on.
#pragma once

#include <lento/export.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <source_location>
#include <string>
#include <string_view>

namespace lento {

/// Why steps were compiled and which lines waited, for values and for work under way, since the last call. What repeats
/// is told once, with its count.
LENTO_API std::string explain();

namespace metrics {

/// "step", "op.<name>", "plan.hit", "sync.implicit", "transfer.h2d", "donation", "graph.trimmed", "closure.run", …
/// A name that was never counted is 0.
LENTO_API std::uint64_t counter(std::string_view name);
/// Every counter that is not zero.
LENTO_API std::map<std::string, std::uint64_t> counters();

/// How long something took. The percentiles are of the last 1024 times.
struct Timing {
  std::uint64_t count = 0;
  double total_seconds = 0;
  double median_seconds = 0;
  double p90_seconds = 0;
  double p99_seconds = 0;
  double max_seconds = 0;  // of the last 1024
};
/// "step" (the call), "plan.compile", "run" (on the device), "sync" (a read that waits for its value), "sync.room"
/// (step and eval while Options::max_inflight_steps are under way), "transfer.h2d", "closure". All zero when it never
/// happened.
LENTO_API Timing timing(std::string_view name);
/// Every timing that happened.
LENTO_API std::map<std::string, Timing> timings();

// Counters and timings of the user's own. They stand beside Lento's in everything above and in report(), and reset()
// forgets them. Recording takes some 50 ns: for batches and files, not for elements.

/// Adds to the user's counter of this name. Throws ValueError when the name is empty or one of Lento's own, and when
/// there are 1000 already.
LENTO_API void add(std::string_view name, std::uint64_t n = 1,
                   std::source_location site = std::source_location::current());
/// Records how long something took under the user's name. Throws ValueError when the duration is negative or no number,
/// when the name is empty or one of Lento's own, and when there are 100 already.
LENTO_API void record(std::string_view name, double seconds,
                      std::source_location site = std::source_location::current());

/// Records the time from its construction to its destruction: `metrics::Timed load("load");`
class LENTO_API Timed {
 public:
  /// Throws as record() does.
  explicit Timed(std::string_view name, std::source_location site = std::source_location::current());
  ~Timed();
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  std::string name_;
  std::chrono::steady_clock::time_point start_;
};

/// Counters and timings as a table.
LENTO_API std::string report();
/// Sets everything to zero, and forgets the user's own names.
LENTO_API void reset();

}  // namespace metrics
}  // namespace lento

// Whether what is under way goes on. The end of the process and a fork wait for it, but not for ever for a device that
// hangs (docs/execution.md, "Devices that hang").
#pragma once

#include <chrono>
#include <cstdint>

namespace lento {

/// Something that was under way has ended.
void note_progress();

/// While it lives, its thread does work of the host: that ends by itself, however long it takes.
class HostComputes {
 public:
  HostComputes();
  ~HostComputes();
  HostComputes(const HostComputes&) = delete;
  HostComputes& operator=(const HostComputes&) = delete;

 private:
  const bool outer_;
};

/// While it lives, its thread computes nothing after all, since it waits for what is under way.
class HostWaits {
 public:
  HostWaits();
  ~HostWaits();
  HostWaits(const HostWaits&) = delete;
  HostWaits& operator=(const HostWaits&) = delete;

 private:
  const bool computes_;
};

/// How long somebody waits who looks now and then whether everything has ended.
class Patience {
 public:
  /// Sleeps a moment and returns true; false once nothing has gone on for the time of set_patience(). After that every
  /// Patience ends at once, until something goes on: nobody waits for the same device twice.
  bool wait();

 private:
  using Clock = std::chrono::steady_clock;

  const HostWaits waits_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point since_ = begin_;  // when something was last seen to go on
  std::uint64_t seen_ = 0;
};

/// 60 seconds; for tests.
void set_patience(std::chrono::milliseconds limit);
std::chrono::milliseconds patience();

}  // namespace lento

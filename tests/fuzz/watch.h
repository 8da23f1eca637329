// What fuzzers show while they run, and say when the case under way ends the process.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>

namespace lento::fuzz {

inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10);
}

/// What to say when the case under way crashes or does not end; made before it runs, for use in a signal handler.
class LastWords {
 public:
  static constexpr unsigned kPatience = 120;  // seconds; a case takes some milliseconds

  LastWords() {
    struct sigaction action = {};
    action.sa_handler = [](int signal) {
      // What cannot be written cannot be helped.
      [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, words.data(), words.size());
      // A fault happens again when this returns, and then meets whoever was here before: a sanitizer, perhaps.
      for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before[i], nullptr);
      if (signal == SIGALRM) ::raise(signal);
    };
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &before[i]);
  }
  ~LastWords() {
    alarm(0);
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before[i], nullptr);
  }
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

  void set(std::uint64_t seed) {
    words = "\nseed " + std::to_string(seed) + " crashed or hung: LENTO_FUZZ_FIRST=" + std::to_string(seed) +
            " runs it again\n";
    alarm(kPatience);
  }
  /// Reducing takes its time.
  static void forget() { alarm(0); }

 private:
  static constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
  static inline std::string words;
  static inline std::array<struct sigaction, kSignals.size()> before;
};

/// A line a second, when somebody watches.
class Progress {
 public:
  explicit Progress(std::string what) : what_(std::move(what)) {}

  void show(std::uint64_t seed, std::uint64_t done) {
    const auto now = Clock::now();
    if (now - shown_ < std::chrono::seconds(1)) return;
    shown_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const auto rate = static_cast<std::uint64_t>(static_cast<double>(done) / seconds);
    std::cerr << "\r" << done << " " << what_ << ", " << rate << " a second, seed " << seed << "    " << std::flush;
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = start_;
};

}  // namespace lento::fuzz

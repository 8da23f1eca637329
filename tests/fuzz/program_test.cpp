// Random programs behave as if every op ran at once. The suite runs the same 20,000 every time; `make fuzz` looks
// further.
#include "fuzz/program.h"

#include "fuzz/reduce.h"

#include <lento/cache.h>
#include <lento/metrics.h>

#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <limits>

namespace lento::fuzz {
namespace {

#if defined(LENTO_CONSTANT_HASH)
constexpr std::uint64_t kPrograms = 2'000;  // looking for a plan compares it with every plan there is
#elif defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kPrograms = 4'000;  // slower, and a test has 600 seconds
#else
constexpr std::uint64_t kPrograms = 20'000;
#endif

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10);
}

/// What to say when the program under way crashes or does not end; made before it runs, for use in a signal handler.
class LastWords {
 public:
  static constexpr unsigned kPatience = 120;  // seconds; a program takes a millisecond

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
  static constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGABRT, SIGALRM};
  static inline std::string words;
  static inline std::array<struct sigaction, kSignals.size()> before;
};

using Clock = std::chrono::steady_clock;

/// A line a second, when somebody watches.
class Progress {
 public:
  void show(std::uint64_t seed, std::uint64_t programs) {
    const auto now = Clock::now();
    if (now - shown_ < std::chrono::seconds(1)) return;
    shown_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    std::cerr << "\r" << programs << " programs, "
              << static_cast<std::uint64_t>(static_cast<double>(programs) / seconds) << " a second, seed " << seed
              << "    " << std::flush;
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = start_;
};

// LENTO_FUZZ_FIRST: the first seed. LENTO_FUZZ_PROGRAMS: how many programs. LENTO_FUZZ_SECONDS: for how long instead,
// with progress; 0 means until stopped.
TEST(Programs, BehaveAsIfEveryOpRanAtOnce) {
  const bool looks_further = std::getenv("LENTO_FUZZ_SECONDS") != nullptr;
  const std::uint64_t first = from_environment("LENTO_FUZZ_FIRST", 0);
  const std::uint64_t count =
      looks_further ? std::numeric_limits<std::uint64_t>::max() : from_environment("LENTO_FUZZ_PROGRAMS", kPrograms);
  const auto seconds = static_cast<double>(from_environment("LENTO_FUZZ_SECONDS", 0));
  // A program that has run before finds its plans; some failures need that they are made.
  const Fails fails = [](const Program& program) {
    if (!difference(program).empty()) return true;
    cache::clear();
    return !difference(program).empty();
  };
  LastWords last_words;
  Progress progress;
  std::uint64_t programs = 0;
  for (; programs < count; ++programs) {
    const std::uint64_t seed = first + programs;
    last_words.set(seed);
    const Program program = random_program(seed);
    if (const std::string found = difference(program); !found.empty()) {
      LastWords::forget();
      const Reduced least = reduce(program, fails);
      FAIL() << "seed " << seed << ", " << found << "reduced (each part is needed in " << least.attempts
             << " attempts):\n"
             << to_test(least.program, "Seed" + std::to_string(seed));
    }
    if (!looks_further) continue;
    progress.show(seed, programs + 1);
    if (seconds > 0 && progress.seconds() > seconds) break;
  }
  if (looks_further) std::cerr << "\n" << programs << " programs, no difference\n";
}

TEST(Programs, ReachEverythingTheyAreMeantToReach) {
  static constexpr const char* kCounters[] = {"plan.hit",      "plan.miss",     "donation",
                                              "graph.trimmed", "launch.inline", "launch.worker",
                                              "closure.run",   "sync.implicit", "sync.wait"};
  std::array<std::uint64_t, std::size(kCounters)> before;
  for (std::size_t i = 0; i < before.size(); ++i) before[i] = metrics::counter(kCounters[i]);
  std::size_t failed_values = 0;
  std::size_t errors_of_calls = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const auto& thread : run_lazily(random_program(seed))) {
      for (const std::string& seen : thread) {
        failed_values += seen.find("out of") != std::string::npos ? 1 : 0;
        errors_of_calls += seen.find("on different devices") != std::string::npos ? 1 : 0;
        EXPECT_NE(seen, "did not run") << "seed " << seed;
      }
    }
  }
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_GT(metrics::counter(kCounters[i]), before[i]) << kCounters[i];
  EXPECT_GT(failed_values, 0);
  EXPECT_GT(errors_of_calls, 0);
}

}  // namespace
}  // namespace lento::fuzz

// Whether other threads of this process stay asleep. A thread that is woken is runnable at once, and one that slept
// again has switched, so that nothing has to be waited for to see it.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

namespace lento {

class ThreadsAtRest {
 public:
  /// Waits until every other thread sleeps.
  ThreadsAtRest() {
    do {
      std::this_thread::yield();
      before_ = look();
    } while (awake_ || before_ != look() || awake_);
  }

  /// "" when no other thread was made or woken since then, else what was.
  std::string disturbance() {
    const std::map<std::string, std::uint64_t> now = look();
    if (now.size() > before_.size()) return "a thread was made";
    if (awake_) return "a thread is awake";
    for (const auto& [thread, switches] : now) {
      if (!before_.contains(thread)) return "a thread was made";
      if (before_.at(thread) != switches) return "a thread was woken";
    }
    return "";
  }

  std::size_t count() const { return before_.size(); }

 private:
  /// How often each other thread has been switched out, by thread.
  std::map<std::string, std::uint64_t> look() {
    std::map<std::string, std::uint64_t> switches;
    awake_ = false;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
      const std::string thread = entry.path().filename();
      if (thread == std::to_string(::gettid())) continue;
      std::ifstream status(entry.path() / "status");
      for (std::string word; status >> word;) {
        if (word == "State:" && status >> word && word != "S") awake_ = true;
        if (word.ends_with("ctxt_switches:") && status >> word) switches[thread] += std::stoull(word);
      }
    }
    return switches;
  }

  std::map<std::string, std::uint64_t> before_;
  bool awake_ = false;
};

}  // namespace lento

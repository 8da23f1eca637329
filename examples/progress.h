// How the training examples in C++ show what happens: one line that is written over on a terminal, lines elsewhere.
//
//     Progress progress("digits", steps);
//     for (…) {
//       const Tensor loss = train_step();
//       progress.after_step(loss);   // the number is read by Lento's thread for closures: the loop does not wait
//       lento::step();
//     }
//     progress.finish();
#pragma once

#include <lento/lento.h>

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

class Progress {
 public:
  Progress(std::string title, int steps)
      : title_(std::move(title)), steps_(steps), live_(isatty(fileno(stdout)) != 0), start_(Clock::now()) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// A closure that still waits has a pointer to this.
  ~Progress() { lento::wait_closures(); }

  /// Logs this loss once the step is done.
  void after_step(const lento::Tensor& loss) {
    lento::add_step_closure([this](const lento::Tensor& value) { log(value.item<float>()); }, {loss}, true);
  }

  /// Waits for the last step and prints what Lento did.
  void finish() {
    lento::wait();
    lento::wait_closures();
    if (live_) std::printf("\n");
    const auto count = [](const char* name) { return static_cast<unsigned long long>(lento::metrics::counter(name)); };
    std::printf("%.1f steps/s, plans compiled %llu, found again %llu, implicit syncs %llu\n", steps_per_second(),
                count("plan.miss"), count("plan.hit"), count("sync.implicit"));
  }

  /// One per step; complete after finish().
  const std::vector<float>& losses() const { return losses_; }

 private:
  using Clock = std::chrono::steady_clock;

  void log(float loss) {
    losses_.push_back(loss);
    const int step = static_cast<int>(losses_.size());
    if (step == 1) first_ = Clock::now();
    const int every = std::max(1, steps_ / 8);
    if (!live_ && step != 1 && step % every != 0) return;
    const std::size_t recent = std::min<std::size_t>(losses_.size(), 20);
    const float mean = std::accumulate(losses_.end() - static_cast<std::ptrdiff_t>(recent), losses_.end(), 0.0F) /
                       static_cast<float>(recent);
    std::printf("%s%-6s step %4d/%d  loss %.4f  %6.1f steps/s  memory %zu MiB%s", live_ ? "\r" : "", title_.c_str(),
                step, steps_, static_cast<double>(mean), steps_per_second(), lento::memory().peak >> 20,
                live_ ? "" : "\n");
    std::fflush(stdout);
  }

  /// Without the first step, which is compiled.
  double steps_per_second() const {
    const std::chrono::duration<double> since = Clock::now() - first_;
    return losses_.size() < 2 ? 0 : static_cast<double>(losses_.size() - 1) / since.count();
  }

  std::string title_;
  int steps_;
  bool live_;  // somebody watches
  Clock::time_point start_;
  Clock::time_point first_ = start_;  // when the first step was done
  std::vector<float> losses_;
};

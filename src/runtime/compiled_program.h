// CompiledProgram: a graph as a schedule of kernels and calls with the code of a device: all that is known before
// anything runs. It is the same for every device; what a device adds comes from its driver.
#pragma once

#include "backend/backend.h"
#include "backend/driver.h"
#include "backend/queues.h"
#include "compiler/schedule.h"
#include "runtime/donors.h"
#include "runtime/fallback.h"
#include "runtime/late_failures.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lento {

class CompiledProgram final : public Program {
 public:
  /// `target` is the driver's own, or one with other limits, for tests. `queues` are the device's, if it has any.
  CompiledProgram(Graph graph, Driver& driver, const Target& target, const CompileOptions& options,
                  DeviceQueues* queues = nullptr);

  /// On a device with queues this waits for the end.
  void run(const RunArguments& arguments) override;
  std::unique_ptr<IssuedRun> issue(const RunArguments& arguments) override;
  double estimated_microseconds() const override { return estimated_microseconds_; }
  std::size_t bytes() const override;
  std::size_t planned_peak() const override { return schedule_.temporary_bytes + schedule_.output_bytes; }
  std::size_t reused_bytes(std::span<const std::uint8_t> donated) const override {
    return donors_.reused_bytes(schedule_, donated);
  }
  std::size_t launch_count() const override { return turns_.size(); }
  std::size_t compiled_kernels() const override { return prepared_.compiled; }
  std::size_t code_bytes() const override;
  std::string text() const override;
  std::span<const Fallback> fallbacks() const override { return fallbacks_; }
  std::size_t fallback_copies() const override;
  const Graph& graph() const { return graph_; }
  const Schedule& schedule() const { return schedule_; }
  /// Of a device with queues.
  const LateFailures& late_failures() const { return late_failures_; }
  Driver& driver() const { return driver_; }
  /// Compiles every kernel with care now instead of when it has run often.
  void improve();

 private:
  friend class ProgramRun;

  /// Of a device with queues: finds the calls that it has no code for, and makes programs of the CPU device of them.
  void find_fallbacks(const CompileOptions& options);

  Graph graph_;  // simplified
  Driver& driver_;
  DeviceQueues* queues_;
  std::string simplified_;  // what was done to the graph, for people
  Schedule schedule_;
  std::vector<Turn> turns_;
  PreparedSchedule prepared_;
  std::vector<std::uint32_t> step_of_;  // one per node; of views and numbers it means nothing
  Donors donors_;
  std::vector<Fallback> fallbacks_;
  std::vector<FallbackRegion> regions_;  // in the order of their steps
  LateFailures late_failures_;
  double estimated_microseconds_ = 0;
};

}  // namespace lento

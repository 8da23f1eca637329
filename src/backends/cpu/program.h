// The CPU device's programs: a schedule of kernels and calls, run step by step.
#pragma once

#include "backend/backend.h"
#include "backends/cpu/code/kernel_cache.h"
#include "backends/cpu/library_step.h"
#include "compiler/schedule.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lento::cpu {

class CpuProgram final : public Program {
 public:
  CpuProgram(Graph graph, std::uint8_t device) : CpuProgram(std::move(graph), device, fusion_options()) {}
  CpuProgram(Graph graph, std::uint8_t device, const FusionOptions& fusion);

  void run(const RunArguments& arguments) override;
  double estimated_microseconds() const override { return estimated_microseconds_; }
  std::size_t bytes() const override;
  std::size_t planned_peak() const override { return schedule_.temporary_bytes + schedule_.output_bytes; }
  std::size_t reused_bytes(std::span<const std::uint8_t> donated) const override;
  std::size_t kernels() const override { return schedule_.steps.size(); }
  std::size_t compiled_kernels() const override { return compiled_kernels_; }
  std::size_t code_bytes() const override;
  std::string text() const override;
  /// Compiles every kernel with care now instead of when it has run often.
  void improve();

 private:
  friend class ProgramRun;
  /// An input in whose memory a result of a kernel may be written.
  struct Donor {
    std::uint32_t input;
    std::uint32_t node;
  };

  void make_library_steps();
  void find_donors();
  /// The input that a step updates, which may happen in place if nobody else holds it.
  std::optional<std::uint32_t> updated_input(std::uint32_t step) const;
  bool walked_alike(OperandRef value, std::uint32_t first, std::uint32_t last) const;

  Graph graph_;  // simplified
  std::uint8_t device_;
  std::string simplified_;  // what was done to the graph, for people
  Schedule schedule_;
  std::vector<KernelRef> code_;                              // one per kernel of the schedule
  std::vector<std::unique_ptr<const LibraryStep>> library_;  // one per step; null where there is none
  std::vector<std::uint32_t> step_of_;                       // one per node; of views and numbers it means nothing
  std::vector<std::uint32_t> last_use_of_input_;             // the step
  std::vector<std::vector<Donor>> donors_;                   // one per step, the best first
  std::size_t compiled_kernels_ = 0;
  double estimated_microseconds_ = 0;
};

}  // namespace lento::cpu

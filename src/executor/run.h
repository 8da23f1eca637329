// Run: one execution of a plan.
#pragma once

#include "base/interrupt.h"
#include "executor/evaluate.h"
#include "executor/plan.h"
#include "executor/work.h"
#include "executor/workers.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace lento {

using SourceList = std::shared_ptr<const std::vector<Source>>;

struct Run final : Work {
  explicit Run(PlanPtr of);

  const PlanPtr plan;
  std::vector<ScalarArgument> scalars;
  SourceList sources;                 // the lines of this trace, one per node; the plan may come from another one
  std::unique_ptr<IssuedRun> issued;  // of a device with queues, from its start on

  std::size_t planned_bytes() const override;
  FenceRef start() noexcept override;
  FenceRef settle() noexcept override;
};

/// Counts what the run is about to compute, and which of its ops fall back.
void count_run(const Run& run);

/// What a thread holds while it launches a run. No fork comes between while it lives.
///
/// The order of the members matters: they end last to first. Forks may happen again before a run that is done lets go
/// of its inputs, because that may need the lock of a front end, which a thread that forks may hold. `blocking_` has
/// given that lock away, and takes it back at the very end.
class Launch {
 public:
  /// Starts the run as soon as its inputs are there. When they are there already, and the run is short or a device with
  /// queues does the work, that is at once and on this thread; otherwise it is on a worker. Whether it is short is
  /// known from the plan's last run, before there was one from an estimate. For a caller that waits for the end, longer
  /// runs count as short too.
  CompletionRef start(std::unique_ptr<Run> run, AfterLaunch next) noexcept;

 private:
  std::optional<Blocking> blocking_;
  std::unique_ptr<Run> done_;
  const NoForkNow no_fork_;
};

}  // namespace lento

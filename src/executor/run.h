// Run: one execution of a plan.
#pragma once

#include "base/interrupt.h"
#include "executor/evaluate.h"
#include "executor/plan.h"
#include "executor/work.h"

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

/// Starts a run as soon as its inputs are there: at once on this thread when it is short and they are, or when a device
/// with queues does the work; else on a worker. For a caller that waits for the end, more is short; a front end's lock
/// is let go meanwhile, by `blocking`. A run that is done is left to the caller, who destroys it and then `blocking`
/// once it may block.
CompletionRef launch(std::unique_ptr<Run>& run, AfterLaunch next, std::optional<Blocking>& blocking) noexcept;

}  // namespace lento

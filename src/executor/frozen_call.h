// A call that was recorded twice and came out the same: later ones run its plan with other inputs, and record nothing
// (clauses F1 to F5). Front ends say where inputs come from and where results go.
#pragma once

#include "executor/call_recorder.h"
#include "executor/plan.h"
#include "executor/run.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lento {

/// Why two recordings of a call are not the same, and the line.
struct CallDifference {
  std::string text;
  Source line;
};

/// Nothing when the second call does what the first did: the same graph of the same leaves, the same numbers except
/// those that are asked for anew, and results in the same places.
std::optional<CallDifference> difference(const CallGraph& first, const CallGraph& second);

/// What is told of functions that were frozen, or were not (clauses F4 and M3).
void note_frozen(const std::string& sentence);
/// The sentences since the last call.
std::string describe_frozen();

/// A plan that was found before, and may hold no longer.
struct KnownPlan {
  PlanPtr plan;
  std::uint64_t epoch = 0;
};

/// Counters of clause F5.
void count_freeze_record();
void count_freeze_fallback();

/// One execution of a frozen call, in three parts: the first may wait and throws before anything has happened; between
/// the second and the third nothing waits.
class FrozenRun {
 public:
  /// Evaluates what is pending among the inputs of the graph, in its order, and finds the plan. `replaced`: whose
  /// handle gets a new value from this call, so that nobody else may be left to read the old one.
  FrozenRun(const CallGraph& call, std::vector<Tensor> inputs, std::span<const std::uint8_t> replaced,
            const KnownPlan& known);

  const KnownPlan& plan() const { return plan_; }
  /// Asks generators and takes the numbers of the host, one for each that is given. False, and nothing has happened,
  /// when one of them decides otherwise than when the call was recorded, is of another kind or does not fit its dtype.
  bool take_numbers(std::span<const Scalar> given);
  /// Fixes the run. Returns the tensors that the graph's outputs are.
  std::vector<Tensor> bind();
  /// Starts it, once handles have their new values: what nobody holds any more is written over.
  void start(AfterLaunch next) noexcept;

 private:
  const CallGraph& call_;
  std::vector<Tensor> inputs_;
  KnownPlan plan_;
  std::vector<ScalarArgument> scalars_;
  std::optional<Launch> launch_;
  std::unique_ptr<Run> run_;
  bool is_saved_ = false;
};

}  // namespace lento

// Ops that run on the CPU device because theirs has no code for them (clause D6): whether that is allowed, and telling
// of it.
#pragma once

#include "executor/plan.h"

#include <span>
#include <string>

namespace lento {

FallbackMode fallback_mode();
void set_fallback_mode(FallbackMode mode);

/// Whether a run of the plan has to be refused.
inline bool is_refused(const Plan& plan) {
  return fallback_mode() == FallbackMode::error && !plan.program->fallbacks().empty();
}
/// Throws BackendError, naming the ops, when it has to be. `sources`: the lines of this trace, one per node.
void check_fallbacks(const Plan& plan, std::span<const Source> sources);

/// The plan is about to run.
void note_fallbacks(const Plan& plan, std::span<const Source> sources);
/// A sentence for each op and line that ran on the CPU device since the last call.
std::string describe_fallbacks();

}  // namespace lento

// explain(): why steps were compiled and where the program waited, in plain sentences (clause M3).
#pragma once

#include "executor/plan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lento {

/// Notes that a plan was made for `graph`, and what differs from the nearest of the plans cached before. `rebound`:
/// only extents were new, no code was. Compiles that differ by numbers alone are told as one.
void explain_compile(const Graph& graph, std::uint8_t device, const std::vector<PlanPtr>& cached, bool rebound);

}  // namespace lento

// Sums that are no single loop.
#pragma once

#include "backends/cpu/prepared_call.h"

#include <memory>

namespace lento::cpu {

/// Null when the last axis is not among those that are summed over, and for other types than float32 and float64.
std::unique_ptr<const PreparedCall> make_reduce_call(const Graph& graph, const Step& step);

}  // namespace lento::cpu

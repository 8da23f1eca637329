// The memory limit of a device (clause E9), looked at before a step changes anything.
#pragma once

#include "executor/plan.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace lento {

bool memory_is_limited(std::uint8_t device);

/// Throws MemoryError, naming the planned peak and the largest tensors, when running the plan would exceed the limit
/// even after the runs under way have ended. `donated` says which inputs the run will be given away for good
/// (RunArguments::donated); it is asked only when that matters.
void check_memory(const Plan& plan, std::span<const Source> sources,
                  const std::function<std::vector<std::uint8_t>()>& donated);

}  // namespace lento

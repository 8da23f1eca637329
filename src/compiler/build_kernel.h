// A group of nodes as a kernel, and how it is called.
#pragma once

#include "compiler/schedule.h"

#include <optional>

namespace lento {

struct BuiltKernel {
  Kernel kernel;
  KernelStep step;  // all but the number of the kernel
};

/// Nothing when the group has no kernel: its reduced axes do not lie in memory like one, or it is too large. Then its
/// nodes must run one by one.
std::optional<BuiltKernel> build_kernel(const Graph& graph, const Target& target, const Fusion& fusion,
                                        const Group& group);

}  // namespace lento

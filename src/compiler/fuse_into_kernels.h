// Groups of nodes with their kernels: fusion, and the one place where it is tried again.
#pragma once

#include "compiler/build_kernel.h"
#include "compiler/fuse.h"

#include <optional>
#include <vector>

namespace lento {

struct FusedKernels {
  Fusion fusion;
  std::vector<std::optional<BuiltKernel>> kernels;  // one per group; nothing for those that were merged into others
};

/// Fuses so that every group has a kernel.
FusedKernels fuse_into_kernels(const Graph& graph, const Target& target, const CompileOptions& options);

}  // namespace lento

// Memory plan: where in one block the values lie that a program needs only for a while.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lento {

/// A value that must lie somewhere from step `first` to step `last`.
struct Lifetime {
  std::size_t bytes = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

struct MemoryPlan {
  std::vector<std::size_t> offsets;  // one per lifetime, multiples of the alignment
  std::size_t bytes = 0;             // of the block
};

/// No two values that are alive at the same step overlap. `alignment` is a power of two.
MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes, std::size_t alignment);

}  // namespace lento

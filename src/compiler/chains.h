// Chains: kernels that follow each other over the same elements. A chain of ops that is too long for one kernel becomes
// several; run one after the other over a large tensor, each would fetch from memory what the one before put there.
// They run tile by tile instead: all of them over a few thousand elements, then over the next. What only they read is
// never stored as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lento {

struct Schedule;

struct Chain {
  std::uint32_t first = 0;        // step
  std::uint32_t last = 0;         // step
  std::int64_t tile = 0;          // elements
  std::size_t scratch_bytes = 0;  // of the values that live in a tile only
};

/// Runs of steps, at least two, each of which is a kernel over one dimension of the same size that has several tiles,
/// walks over everything element by element, and reads something that the run has written, as it was written.
std::vector<Chain> find_chains(const Schedule& schedule, std::int64_t tile);

}  // namespace lento

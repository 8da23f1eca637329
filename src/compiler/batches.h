// Batches: small kernels that have nothing to do with each other and run as one launch. An optimizer's step is a kernel
// for each parameter, a hundred of which take less time than a hundred launches: one launch does them all, and shares
// them among threads that each kernel alone would not be worth.
#pragma once

#include "compiler/target.h"
#include "ir/graph.h"

#include <cstdint>
#include <vector>

namespace lento {

struct Schedule;

/// Steps, at least two, none of which reads what another one writes. They may run in any order, and at once.
struct Batch {
  std::uint32_t first = 0;  // step
  std::uint32_t last = 0;   // step
};

/// Brings kernels next to each other that are not ordered by what they read, as far as there are only kernels between
/// them, and returns the runs of them. Only those take part that the target calls small, or whose results nothing
/// reads. They may come later than before, past larger ones and chains, which keep their order. Needs chains, and
/// Step::in_place: whoever may overwrite an input still comes last of those that read it.
std::vector<Batch> gather_batches(const Graph& graph, const Target& target, Schedule& schedule);

}  // namespace lento

// Evaluation of a part of a tape: eval, reads, step, trimming and cross-thread operands all go through here.
#pragma once

#include "base/value.h"
#include "ir/graph.h"
#include "tensor/state.h"

#include <cstdint>
#include <span>
#include <vector>

namespace lento {

class Tape;

/// What the caller of something that starts a run does next.
enum class AfterLaunch : std::uint8_t { go_on, wait };

/// A run that was started.
struct Launched {
  std::uint8_t device = 0;
  CompletionRef completion;
};

/// Starts computing these tensors. Values computed on the way are kept where a live handle, or a pending record that a
/// live handle reaches, needs them (clause E3): nothing is computed twice.
std::vector<Launched> evaluate(std::span<TensorState* const> states, AfterLaunch next = AfterLaunch::go_on);

/// Starts computing every live pending tensor of this tape. The end of the run, or null when there was nothing to do.
CompletionRef evaluate_all(Tape& tape, AfterLaunch next = AfterLaunch::go_on);

/// What evaluating these tensors would run, and where; the graph is empty when nothing is pending. Throws ValueError
/// when they are pending in several traces.
struct PendingGraph {
  std::uint8_t device = 0;
  Graph graph;
  std::vector<ValueRef> inputs;           // what the graph's inputs are now
  std::vector<std::uint64_t> output_ids;  // the tensors that the graph's outputs are; 0 where only records need one
};
PendingGraph pending_graph(std::span<TensorState* const> states);

/// Waits for a tensor's value; throws its failure. Counts an implicit sync when it was pending.
const void* read_value(TensorState& state);

}  // namespace lento

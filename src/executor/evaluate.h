// Evaluation of a part of a tape: eval, reads, step, trimming and cross-thread operands all go through here.
#pragma once

#include "base/value.h"
#include "tensor/state.h"

#include <span>

namespace lento {

class Tape;

/// Starts computing these tensors. Values computed on the way are kept where a live handle, or a pending record that a
/// live handle reaches, needs them (clause E3): nothing is computed twice.
void evaluate(std::span<TensorState* const> states);

/// Starts computing every live pending tensor of this tape. The end of the run, or null when there was nothing to do.
CompletionRef evaluate_all(Tape& tape);

/// Waits for a tensor's value; throws its failure. Counts an implicit sync when it was pending.
const void* read_value(TensorState& state);

}  // namespace lento

// Evaluation of a part of a tape: eval, reads, step, trimming and cross-thread operands all go through here.
#pragma once

#include "tensor/state.h"

#include <span>

namespace lento {

class Tape;

/// Makes these tensors ready or failed. Values computed on the way are kept where a live handle, or a pending record
/// that a live handle reaches, needs them (clause E3): nothing is computed twice.
void evaluate(std::span<TensorState* const> states);

/// Makes every live pending tensor of the calling thread's tape for this device ready or failed.
void evaluate_all(std::uint8_t device);

/// Waits for a tensor's value; throws its failure. Counts an implicit sync when it was pending.
const void* read_value(TensorState& state);

}  // namespace lento

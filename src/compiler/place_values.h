// Where values lie while a program runs: what shares memory with what, and where everything else goes.
#pragma once

#include "compiler/schedule.h"

namespace lento {

/// Finds the results of each kernel that may take the place of an operand: Step::in_place. They are stored in the
/// kernel's last pass, and the operand is read element by element as the result is written, and in no other way.
void find_in_place(const Graph& graph, Schedule& schedule);

/// Gives every stored value a place. Needs the steps in order, in_place and chains.
void place_values(const Graph& graph, const Target& target, Schedule& schedule);

}  // namespace lento

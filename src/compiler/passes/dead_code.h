// Dead code: nodes that no output needs.
#pragma once

#include "ir/graph.h"

#include <cstddef>

namespace lento {

/// Leaves out what no output needs, and returns how many nodes that were. Inputs and numbers keep their places, used or
/// not: they are arguments.
std::size_t drop_dead_code(Graph& graph);

}  // namespace lento

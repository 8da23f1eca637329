// LENTO_SAVE_GRAPHS=file appends the graph of every evaluation to a file, as text that parses back (clause M2).
#pragma once

#include "ir/graph.h"

#include <cstdint>

namespace lento {

/// False when the file cannot be written, which it warns of, once. To be asked before anything is changed.
bool saves_graphs();
void save_graph(const Graph& graph, std::uint8_t device);

}  // namespace lento

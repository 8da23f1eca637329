// LENTO_SAVE_GRAPHS=file appends the graph of every evaluation to a file, as text that parses back (clause M2).
#pragma once

#include "ir/graph.h"

#include <cstdint>

namespace lento {

bool saves_graphs();
/// Warns once when the file cannot be written; evaluation goes on.
void save_graph(const Graph& graph, std::uint8_t device);

}  // namespace lento

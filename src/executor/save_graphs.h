// LENTO_SAVE_GRAPHS=file appends the graph of every evaluation to a file, as text that parses back (clause M2).
// LTC_SAVE_TENSORS_FILE=file does the same in the form of PyTorch's lazy tensors: the stack of the caller, then the
// graph as LTC_SAVE_TENSORS_FMT says, text, dot or backend.
#pragma once

#include "executor/plan.h"
#include "ir/graph.h"

#include <string>

namespace lento {

struct SavedGraph {
  Graph graph;   // with the lines and numbers of this trace
  PlanPtr plan;  // that runs it
};

/// False when no file can be written, which it warns of, once. To be asked before anything is changed.
bool saves_graphs();
void save_graph(const SavedGraph& saved);

/// How a front end writes the calling thread's stack, innermost frame first: a line "  function (file:line)" per frame.
using StackWriter = std::string (*)();
void set_stack_writer(StackWriter writer);

}  // namespace lento

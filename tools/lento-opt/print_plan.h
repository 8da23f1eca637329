// Parts of a schedule that a program's own text leaves out: what each step reads and writes, and where values lie.
#pragma once

#include "compiler/compile_options.h"
#include "compiler/schedule.h"
#include "ir/graph.h"

#include <string>

namespace lento::opt {

/// For each step its operands with strides and numbers; of calls whether the device has code of its own.
std::string operands_text(const Schedule& schedule, const Graph& graph, const CompileOptions& options);

/// Where each value lies that is stored, which step writes it, and which is the last to read it.
std::string memory_text(const Schedule& schedule, const Graph& graph);

}  // namespace lento::opt

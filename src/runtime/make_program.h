// From a graph to a program, on any device.
#pragma once

#include "backend/backend.h"
#include "compiler/compile_options.h"
#include "ir/graph.h"

#include <cstdint>
#include <memory>

namespace lento {

/// Compiles the graph for the device, or lets a backend without drivers make a program of its own. Throws BackendError
/// or MemoryError.
std::unique_ptr<Program> make_program(Graph graph, std::uint8_t device, const CompileOptions& options);

}  // namespace lento

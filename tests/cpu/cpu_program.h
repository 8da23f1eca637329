// Programs of the CPU device, with any options and limits.
#pragma once

#include "backends/cpu/driver.h"
#include "runtime/compiled_program.h"

#include <utility>

namespace lento::test {

inline const CompileOptions kUnfused{.fusion = false};

inline CompiledProgram cpu_program(Graph graph, const CompileOptions& options = {},
                                   const Target& target = cpu::cpu_driver().target()) {
  return CompiledProgram(std::move(graph), cpu::cpu_driver(), target, options);
}

}  // namespace lento::test

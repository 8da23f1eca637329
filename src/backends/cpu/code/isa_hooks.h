// What single instruction sets add to the code of src/codegen.
#pragma once

#include "backends/cpu/code/jit.h"
#include "codegen/target_hooks.h"

namespace lento::cpu {

codegen::TargetHooks hooks_of(Isa isa);

}  // namespace lento::cpu

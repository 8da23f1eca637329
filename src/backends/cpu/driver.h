// The driver of the CPU: memory from an arena, kernels as machine code, calls of our own loops and of libraries.
#pragma once

#include "backend/driver.h"

namespace lento::cpu {

/// There is one device.
Driver& cpu_driver();

}  // namespace lento::cpu

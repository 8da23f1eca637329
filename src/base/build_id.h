// Which build of this library runs.
#pragma once

#include <string>

namespace lento {

/// What the linker computed from everything in the library (or the program, where it is linked into one): different for
/// any two that differ in a byte. Empty when it was linked without one.
const std::string& build_id();

}  // namespace lento

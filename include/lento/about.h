// What this library is made of and what it found on this machine, for reports of bugs.
#pragma once

#include <lento/export.h>

#include <string>

namespace lento {

struct About {
  std::string version;          // of Lento
  std::string build_id;         // the linker's hash of the library; empty when it was linked without one
  std::string llvm;             // version
  std::string onednn;           // version
  std::string openblas;         // version, and the kind of processor it chose its kernels for
  std::string instruction_set;  // that code is generated for; empty when the processor has none that Lento knows
};
LENTO_API About about();

}  // namespace lento

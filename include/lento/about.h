// What this library is made of and what it found on this machine, for reports of bugs.
#pragma once

#include <lento/export.h>

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

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

/// What a report of a bug should tell, as names and texts: versions, instruction set, threads, devices, the cache on
/// disk, and the LENTO_... variables of the environment.
LENTO_API std::vector<std::pair<std::string, std::string>> version_rows();
/// Prints version_rows() as a table, to the standard output where no stream is given.
LENTO_API void show_versions();
LENTO_API void show_versions(std::ostream& out);

}  // namespace lento

// Who calls which op. A file of Lento includes the declarations of the ops it names and of no others, so that a new op
// recompiles nothing but what is made of it: a source `ops/linalg.cpp` includes "ops/linalg.calls.gen.h".
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "emit.h"
#include "model.h"

namespace lento::opgen {

/// A folder of sources and headers that call ops; their generated headers lie below `prefix`.
struct CallerFolder {
  std::string prefix;
  std::filesystem::path folder;
};

/// The ops whose name or alias stands in a C++ text, outside of comments and strings, whichever namespace they are of;
/// in the order of the catalogue.
std::vector<const Entry*> ops_named_in(std::string_view text, const Catalogue& catalogue);

/// An #include for each header that declares one of these, in the order of their names.
std::vector<std::string> op_includes(const std::vector<const Entry*>& ops);

/// <prefix>/<stem>.calls.gen.h for every X.cpp and X.h: what both name.
void emit_calls(const Catalogue& catalogue, const std::vector<CallerFolder>& folders, Files& files);

}  // namespace lento::opgen

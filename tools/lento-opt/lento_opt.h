// The whole program, so that tests can call it.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

namespace lento::opt {

/// Does what the arguments (without the program's name) say. Returns the exit status: 0 when all is well, 1 when the
/// graph is wrong or cannot be read, 2 for wrong usage; then `errors` says why.
int run(std::span<const std::string> arguments, std::istream& input, std::ostream& output, std::ostream& errors);

}  // namespace lento::opt

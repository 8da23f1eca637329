// lento-opt called in the test's process.
#pragma once

#include "lento_opt.h"

#include <sstream>
#include <string>
#include <vector>

namespace lento::testing {

struct Called {
  int status = 0;
  std::string output;
  std::string errors;
};

/// The program with these arguments and this standard input.
inline Called call(const std::vector<std::string>& arguments, const std::string& input) {
  std::istringstream in(input);
  std::ostringstream out, errors;
  const int status = opt::run(arguments, in, out, errors);
  return {status, out.str(), errors.str()};
}

}  // namespace lento::testing

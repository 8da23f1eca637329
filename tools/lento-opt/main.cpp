// The command line of lento-opt; settings.cpp has the help text.
#include "lento_opt.h"

#include <iostream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return lento::opt::run(arguments, std::cin, std::cout, std::cerr);
}

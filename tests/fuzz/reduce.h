// Makes a failing program small: leaves out threads, phases, instructions and options while it still fails.
#pragma once

#include "fuzz/program.h"

#include <chrono>
#include <functional>

namespace lento::fuzz {

/// True when the program fails this time. Races need not fail every time.
using Fails = std::function<bool(const Program& program)>;

/// How often to try a program that fails as rarely as this one before believing that it does not fail: 1 to 100.
int attempts_for(const Program& program, const Fails& fails);

struct Reduced {
  Program program;
  int attempts;  // runs in a row without a failure that were taken as proof
};
/// A program that fails, and of which nothing can be left out: no thread, phase, instruction or option, and no number
/// can become 0. A race gets rarer as its program gets smaller, so the number of attempts grows with it; after
/// `patience` the smallest so far is returned.
Reduced reduce(Program program, const Fails& fails, std::chrono::seconds patience = std::chrono::seconds(60));

}  // namespace lento::fuzz

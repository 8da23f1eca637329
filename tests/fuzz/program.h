// Random programs for the executor: ops, in-place updates, drops, steps, evals, reads and closures on several threads,
// as data, so that a failing one can be reduced and printed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lento::fuzz {

/// What one instruction does with the registers of its thread (each holds a float64 tensor of one shape, or nothing).
enum class Action : std::uint8_t {
  load,        // target = one of the shared inputs
  unary,       // target = f(a)
  binary,      // target = f(a, b)
  number,      // target = f(a, constant)
  in_place,    // target += a
  set_item,    // target[k] = constant
  multi,       // target = values of top_k(a), and the indices' sum into b
  poison,      // target = a gathered at a position that does not exist
  drop,        // target becomes empty
  copy,        // target = a
  step,        // step()
  eval,        // eval(a)
  read,        // appends the elements of a to the thread's output
  closure,     // a step closure that appends the elements of a to the thread's closure output
  publish,     // puts a on the board for the next phase
  import,      // target = what another thread put on the board in an earlier phase
};

struct Instruction {
  Action action;
  std::uint8_t target;    // register
  std::uint8_t a;         // register (or thread, for import)
  std::uint8_t b;         // register (or board slot)
  std::uint8_t function;  // which op
  double constant;
};

struct Program {
  /// phases[p][t]: what thread t does in phase p. All threads meet between phases.
  std::vector<std::vector<std::vector<Instruction>>> phases;
  int threads = 1;
};

inline constexpr int kRegisters = 6;
inline constexpr int kBoard = 4;

Program random_program(std::uint64_t seed);

/// Everything a program lets one see: what reads and closures appended and what the registers hold at the end, by
/// thread. A failed tensor reads as "failed: IndexError".
using Observed = std::vector<std::vector<std::string>>;

/// Lazily: as written. Eagerly: every op is evaluated before the next, on one thread after the other.
Observed run_program(const Program& program, bool eager);

/// The smallest program found that still fails `still_fails`.
template <class Fails>
Program reduce(Program program, const Fails& still_fails) {
  bool smaller = true;
  while (smaller) {
    smaller = false;
    for (auto& phase : program.phases) {
      for (auto& instructions : phase) {
        for (std::size_t i = 0; i < instructions.size();) {
          const Instruction removed = instructions[i];
          instructions.erase(instructions.begin() + static_cast<std::ptrdiff_t>(i));
          if (still_fails(program)) {
            smaller = true;
          } else {
            instructions.insert(instructions.begin() + static_cast<std::ptrdiff_t>(i), removed);
            ++i;
          }
        }
      }
    }
  }
  return program;
}

/// The program as C++ that can be pasted into a test.
std::string to_source(const Program& program);

}  // namespace lento::fuzz

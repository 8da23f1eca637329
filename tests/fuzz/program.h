// Random programs for the executor: ops, in-place updates, drops, steps, evals, reads and closures on several threads,
// as data, so that a failing one can be reduced, printed as a test, and read back.
#pragma once

#include "backends/toy/toy.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lento {
class Tensor;
}

namespace lento::fuzz {

inline constexpr int kRegisters = 6;  // of each thread; a register holds a tensor or nothing
inline constexpr int kSlots = 4;      // of each thread on the board through which threads hand tensors to each other
inline constexpr int kInputs = 3;     // tensors that every thread can load

/// One line of a program. What the numbers mean depends on the operation (operations.h).
struct Instruction {
  std::uint8_t operation = 0;  // index into operations()
  std::uint8_t target = 0;     // register
  std::uint8_t a = 0;          // register, or input, or thread
  std::uint8_t b = 0;          // register, or slot, or position
  double constant = 0;

  friend bool operator==(const Instruction&, const Instruction&) = default;
};

using Instructions = std::vector<Instruction>;

struct Program {
  int threads = 1;
  std::uint32_t max_pending_nodes = 0;   // 0: as it is by default
  std::uint32_t max_inflight_steps = 0;  // 0: as it is by default
  // Of the toy device: what its queues' pauses are drawn from, and what it has no code for (toy::Support).
  bool on_toy = false;
  std::uint64_t delays = 0;
  toy::Support support = toy::Support::all;
  /// phases[p][t]: what thread t does in phase p. All threads meet between phases.
  std::vector<std::vector<Instructions>> phases;

  friend bool operator==(const Program&, const Program&) = default;
};

Program random_program(std::uint64_t seed);
/// The same on the toy device, with delays and support drawn from the seed.
Program random_toy_program(std::uint64_t seed);

/// One instruction a line, `add r0 r1 r2`, under `phase` and `thread 0`. parse(to_text(p)) == p.
std::string to_text(const Program& program);
/// Throws std::invalid_argument that names the line.
Program parse(std::string_view text);
/// A GoogleTest that runs this program, to be pasted into found_test.cpp.
std::string to_test(const Program& program, std::string_view name);

/// Called after each instruction of a lazy run with the operation's name and its target: plants faults.
using Sabotage = std::function<void(std::string_view operation, Tensor& target)>;

/// Everything a program lets one see, by thread: errors of calls, what reads and closures saw, what the registers hold
/// at the end. A failed tensor shows its error.
using Observed = std::vector<std::vector<std::string>>;

/// As written, on its threads.
Observed run_lazily(const Program& program, const Sabotage& sabotage = {});

/// Runs the program lazily and eagerly: every op computed before the next, thread after thread on one thread. The first
/// thing that the one lets one see and the other does not; "" when there is none.
std::string difference(const Program& program, const Sabotage& sabotage = {});

}  // namespace lento::fuzz

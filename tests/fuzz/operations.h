// The operations that programs are made of, as a table: how each is written, how often it is drawn, what it does.
#pragma once

#include "fuzz/program.h"

#include <lento/lento.h>

#include <array>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lento::fuzz {

/// What an operation uses of an instruction, in the order in which it is written.
enum Field : unsigned {
  kTarget = 1,        // r0: a register that gets a value
  kUpdate = 2,        // r0: a register whose tensor gets a new value; there must be one
  kA = 4,             // r0: a register that is read; there must be a tensor in it
  kB = 8,             // the same
  kSecond = 16,       // r0, in b: a register that gets a second result
  kInput = 32,        // i0, in a
  kThread = 64,       // t0, in a
  kSlot = 128,        // s0, in b
  kPosition = 256,    // p0, in b: an element or a row
  kConstant = 512,    // 0.5
  kEvaluates = 1024,  // not written: what fails while running may be raised here or not
};

using Slots = std::array<Tensor, kSlots>;

/// One thread of a running program.
struct Worker {
  bool eager = false;
  Generator* generator = nullptr;                     // nullptr: the default generator
  const std::vector<Tensor>* inputs = nullptr;        // on the default device
  const std::vector<Tensor>* async_inputs = nullptr;  // on a device whose runs all go through the workers
  const std::vector<Slots>* board = nullptr;          // what each thread had published when this phase began
  Slots* mine = nullptr;                              // what this thread publishes
  std::array<Tensor, kRegisters> registers;
  std::vector<std::string> seen;
  std::set<std::string> failures;                          // of an eager run: every failure a register ever held
  std::vector<std::shared_ptr<std::string>> closures_saw;  // one place a closure: which thread runs it is open

  Tensor& target(const Instruction& i) { return registers[i.target]; }
  const Tensor& a(const Instruction& i) const { return registers[i.a]; }
  const Tensor& b(const Instruction& i) const { return registers[i.b]; }
};

struct Operation {
  std::string_view name;
  unsigned fields;
  int weight;
  void (*execute)(Worker& worker, const Instruction& instruction);
};

std::span<const Operation> operations();
/// Throws std::invalid_argument for a name that there is not.
std::uint8_t operation_named(std::string_view name);

/// How a value that failed while running looks.
inline constexpr std::string_view kFailed = "failed: ";
std::string failure_text(const IndexError& error);
/// Elements, dtype and shape, bit by bit, or the failure.
std::string text_of(const Tensor& x);
/// Calls it again when the fault that a program orders (`fault`) strikes: such a call has changed nothing.
void despite_fault(const std::function<void()>& call);

}  // namespace lento::fuzz

#include "fuzz/program.h"

#include <lento/closures.h>
#include <lento/lento.h>

#include <array>
#include <barrier>
#include <bit>
#include <memory>
#include <random>
#include <sstream>
#include <thread>

namespace lento::fuzz {

namespace {

constexpr std::int64_t kSize = 5;

/// Inputs that all threads read; the same in every program.
Tensor shared_input(int which) {
  std::vector<double> values;
  for (int i = 0; i < kSize; ++i) values.push_back(0.25 * (i + 1) * (which % 2 == 0 ? 1 : -1) + which);
  return tensor(values);
}

std::string text_of(const Tensor& x) {
  if (!x.defined()) return "nothing";
  try {
    std::ostringstream out;
    for (const double value : x.to_vector<double>()) out << std::hex << std::bit_cast<std::uint64_t>(value) << ' ';
    return out.str();
  } catch (const IndexError&) {
    return "failed: IndexError";
  }
}

/// All bounded, so that long programs do not all end in inf and nan.
Tensor apply_unary(int function, const Tensor& x) {
  switch (function % 5) {
    case 0: return sin(x);
    case 1: return abs(x);
    case 2: return negative(x);
    case 3: return flip(x, std::nullopt);
    default: return tanh(x);
  }
}

Tensor apply_binary(int function, const Operand& x, const Operand& y) {
  switch (function % 5) {
    case 0: return add(x, y);
    case 1: return subtract(x, y);
    case 2: return multiply(x, y);
    case 3: return maximum(x, y);
    default: return minimum(x, y);
  }
}

struct Board {
  std::vector<std::array<Tensor, kBoard>> slots;  // by thread
};

class Thread {
 public:
  Thread(bool eager, const std::vector<Tensor>& inputs) : eager_(eager), inputs_(inputs) {}

  void run(const std::vector<Instruction>& instructions, const Board& board, std::array<Tensor, kBoard>& mine) {
    for (const Instruction& instruction : instructions) {
      execute(instruction, board, mine);
      if (eager_) settle();
    }
  }

  /// Once every thread has ended and all closures have run.
  std::vector<std::string> collect() {
    std::vector<std::string> all = std::move(seen_);
    for (const auto& closure : closure_seen_) all.push_back(*closure);
    for (const Tensor& x : registers_) all.push_back(text_of(x));
    registers_ = {};
    return all;
  }

 private:
  void settle() {
    for (const Tensor& x : registers_) {
      if (x.defined()) (void)text_of(x);
    }
  }

  void execute(const Instruction& i, const Board& board, std::array<Tensor, kBoard>& mine) {
    Tensor& target = registers_[i.target];
    const Tensor& a = registers_[i.a % kRegisters];
    const Tensor& b = registers_[i.b % kRegisters];
    switch (i.action) {
      case Action::load: target = inputs_[i.a % inputs_.size()]; break;
      case Action::unary:
        if (a.defined()) target = apply_unary(i.function, a);
        break;
      case Action::binary:
        if (a.defined() && b.defined()) target = apply_binary(i.function, a, b);
        break;
      case Action::number:
        if (a.defined()) target = apply_binary(i.function, a, i.constant);
        break;
      case Action::in_place:
        if (a.defined() && target.defined()) target += a;
        break;
      case Action::set_item:
        if (target.defined()) target[i.function % kSize] = i.constant;
        break;
      case Action::multi:
        if (a.defined()) {
          const auto both = prim::top_k(a, kSize, 0, true);
          target = both.values;
          registers_[i.b % kRegisters] = prim::astype(both.indices, DType::float64);
        }
        break;
      case Action::poison:
        if (a.defined()) target = take(a, tensor({std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{99}, std::int64_t{4}}), 0);
        break;
      case Action::drop: target = Tensor(); break;
      case Action::copy: target = a; break;
      case Action::step: lento::step(); break;
      case Action::eval:
        if (a.defined()) lento::eval(a);
        break;
      case Action::read: seen_.push_back(text_of(a)); break;
      case Action::closure:
        // Closures belong to the device: another thread's step may run this one, at any time. It writes to a place of
        // its own.
        if (a.defined()) {
          closure_seen_.push_back(std::make_shared<std::string>("did not run"));
          add_step_closure([place = closure_seen_.back()](const std::vector<Tensor>& args) { *place = text_of(args[0]); }, {a},
                           i.function % 2 == 0);
        }
        break;
      case Action::publish: mine[i.b % kBoard] = a; break;
      case Action::import: target = board.slots[i.a % board.slots.size()][i.b % kBoard]; break;
    }
  }

  bool eager_;
  const std::vector<Tensor>& inputs_;
  std::array<Tensor, kRegisters> registers_;
  std::vector<std::string> seen_;
  std::vector<std::shared_ptr<std::string>> closure_seen_;
};

}  // namespace

Program random_program(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::uint64_t n) { return static_cast<int>(random() % n); };
  Program program;
  program.threads = std::array{1, 1, 1, 2, 2, 3, 4, 8}[random() % 8];
  const int phases = 1 + pick(3);
  for (int p = 0; p < phases; ++p) {
    std::vector<std::vector<Instruction>> phase(static_cast<std::size_t>(program.threads));
    for (auto& instructions : phase) {
      const int length = 4 + pick(program.threads > 2 ? 12 : 30);
      for (int k = 0; k < length; ++k) {
        // Loads first, so that there is something to work on; steps and reads are rarer than ops.
        static constexpr Action kMix[] = {
            Action::load,   Action::unary,   Action::unary, Action::binary, Action::binary, Action::binary,  Action::number,
            Action::number, Action::in_place, Action::set_item, Action::multi, Action::drop,   Action::copy,    Action::step,
            Action::eval,   Action::read,    Action::closure, Action::publish, Action::import, Action::poison,
        };
        Action action = k < 2 && p == 0 ? Action::load : kMix[random() % std::size(kMix)];
        if (action == Action::poison && pick(4) != 0) action = Action::unary;
        instructions.push_back({action, static_cast<std::uint8_t>(pick(kRegisters)), static_cast<std::uint8_t>(pick(8)),
                                static_cast<std::uint8_t>(pick(kRegisters)), static_cast<std::uint8_t>(pick(5)),
                                0.125 * pick(16) - 1});
      }
    }
    program.phases.push_back(std::move(phase));
  }
  return program;
}

Observed run_program(const Program& program, bool eager) {
  const auto count = static_cast<std::size_t>(program.threads);
  const std::vector<Tensor> inputs{shared_input(0), shared_input(1), shared_input(2)};
  std::vector<Thread> threads(count, Thread(eager, inputs));
  Board board{std::vector<std::array<Tensor, kBoard>>(count)};
  Board next = board;
  Observed observed(count);
  const auto phase_done = [&]() noexcept { board = next; };
  if (eager || count == 1) {
    for (const auto& phase : program.phases) {
      for (std::size_t t = 0; t < count; ++t) threads[t].run(phase[t], board, next.slots[t]);
      phase_done();
    }
  } else {
    std::barrier barrier(static_cast<std::ptrdiff_t>(count), phase_done);
    std::vector<std::thread> running;
    for (std::size_t t = 0; t < count; ++t) {
      running.emplace_back([&, t] {
        for (const auto& phase : program.phases) {
          threads[t].run(phase[t], board, next.slots[t]);
          barrier.arrive_and_wait();
        }
      });
    }
    for (std::thread& thread : running) thread.join();
  }
  lento::step();  // runs the closures that are left
  wait_closures();
  for (std::size_t t = 0; t < count; ++t) observed[t] = threads[t].collect();
  return observed;
}

std::string to_source(const Program& program) {
  static constexpr const char* kNames[] = {"load",  "unary", "binary", "number", "in_place", "set_item", "multi",   "poison",
                                           "drop",  "copy",  "step",   "eval",   "read",     "closure",  "publish", "import"};
  std::ostringstream out;
  out << "Program program;\nprogram.threads = " << program.threads << ";\nprogram.phases = {\n";
  for (const auto& phase : program.phases) {
    out << "  {\n";
    for (const auto& instructions : phase) {
      out << "    {";
      for (const Instruction& i : instructions) {
        out << "{Action::" << kNames[static_cast<int>(i.action)] << ", " << int{i.target} << ", " << int{i.a} << ", "
            << int{i.b} << ", " << int{i.function} << ", " << i.constant << "}, ";
      }
      out << "},\n";
    }
    out << "  },\n";
  }
  out << "};\nEXPECT_EQ(run_program(program, false), run_program(program, true));\n";
  return out.str();
}

}  // namespace lento::fuzz

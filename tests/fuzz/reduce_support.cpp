#include "fuzz/reduce.h"

#include "fuzz/operations.h"

#include <algorithm>

namespace lento::fuzz {

namespace {

void remove_thread(Program& program, std::size_t thread) {
  const std::uint8_t import = operation_named("import");
  --program.threads;
  for (auto& phase : program.phases) {
    phase.erase(phase.begin() + static_cast<std::ptrdiff_t>(thread));
    for (Instructions& instructions : phase) {
      std::erase_if(instructions, [&](const Instruction& i) { return i.operation == import && i.a == thread; });
      for (Instruction& i : instructions) i.a -= i.operation == import && i.a > thread ? 1 : 0;
    }
  }
}

/// The instructions of a phase are done at the end of the phase before it.
void merge_phase(Program& program, std::size_t phase) {
  auto& before = program.phases[phase - 1];
  for (std::size_t t = 0; t < before.size(); ++t) {
    const Instructions& more = program.phases[phase][t];
    before[t].insert(before[t].end(), more.begin(), more.end());
  }
  program.phases.erase(program.phases.begin() + static_cast<std::ptrdiff_t>(phase));
}

/// Leaves out one instruction; what would have read its result reads its operand.
void bypass(Program& program, std::size_t phase, std::size_t thread, std::size_t index) {
  const Instruction gone = program.phases[phase][thread][index];
  const unsigned needed = kTarget | kA;
  if ((operations()[gone.operation].fields & needed) != needed) return;
  for (std::size_t p = phase; p < program.phases.size(); ++p) {
    Instructions& list = program.phases[p][thread];
    for (std::size_t k = p == phase ? index + 1 : 0; k < list.size(); ++k) {
      const unsigned fields = operations()[list[k].operation].fields;
      if ((fields & kUpdate) != 0 && list[k].target == gone.target) list[k].target = gone.a;
      if ((fields & kA) != 0 && list[k].a == gone.target) list[k].a = gone.a;
      if ((fields & kB) != 0 && list[k].b == gone.target) list[k].b = gone.a;
    }
  }
  Instructions& list = program.phases[phase][thread];
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(index));
}

class Reducer {
 public:
  Reducer(Program program, const Fails& fails, std::chrono::seconds patience)
      : program_(std::move(program)), fails_(fails), end_(Clock::now() + patience) {}

  Reduced reduce() {
    bool smaller = true;
    while (smaller) {
      const int needed = attempts_for(program_, fails_);
      smaller = needed > attempts_ && attempts_ != 0;
      attempts_ = std::max(attempts_, needed);
      smaller |= without_threads();
      smaller |= without_phases();
      smaller |= without_instructions();
      smaller |= without_results();
      smaller |= without_options();
      smaller |= with_smaller_numbers();
      smaller &= Clock::now() < end_;
    }
    return {program_, attempts_};
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Keeps the change when the program still fails.
  template <class Change>
  bool attempt(const Change& change) {
    Program candidate = program_;
    change(candidate);
    if (candidate == program_) return false;
    for (int i = 0; i < attempts_ && Clock::now() < end_; ++i) {
      if (!fails_(candidate)) continue;
      program_ = std::move(candidate);
      return true;
    }
    return false;
  }

  bool without_threads() {
    bool smaller = false;
    for (int t = program_.threads - 1; t >= 0 && program_.threads > 1; --t) {
      smaller |= attempt([&](Program& p) { remove_thread(p, static_cast<std::size_t>(t)); });
    }
    return smaller;
  }

  bool without_phases() {
    bool smaller = false;
    for (std::size_t p = program_.phases.size(); p-- > 0 && program_.phases.size() > 1;) {
      const bool gone =
          attempt([&](Program& q) { q.phases.erase(q.phases.begin() + static_cast<std::ptrdiff_t>(p)); }) ||
          (p > 0 && attempt([&](Program& q) { merge_phase(q, p); }));
      smaller |= gone;
    }
    return smaller;
  }

  /// Halves first, then smaller and smaller pieces, down to single instructions.
  bool without_instructions() {
    bool smaller = false;
    for (std::size_t p = 0; p < program_.phases.size(); ++p) {
      for (std::size_t t = 0; t < program_.phases[p].size(); ++t) {
        for (std::size_t piece = program_.phases[p][t].size(); piece > 0; piece /= 2) {
          for (std::size_t end = program_.phases[p][t].size(); end > 0;) {
            const std::size_t begin = end > piece ? end - piece : 0;
            smaller |= attempt([&](Program& q) {
              Instructions& list = q.phases[p][t];
              list.erase(list.begin() + static_cast<std::ptrdiff_t>(begin),
                         list.begin() + static_cast<std::ptrdiff_t>(end));
            });
            end = begin;
          }
        }
      }
    }
    return smaller;
  }

  bool without_results() {
    bool smaller = false;
    for (std::size_t p = 0; p < program_.phases.size(); ++p) {
      for (std::size_t t = 0; t < program_.phases[p].size(); ++t) {
        for (std::size_t k = program_.phases[p][t].size(); k-- > 0;) {
          smaller |= attempt([&](Program& q) { bypass(q, p, t, k); });
        }
      }
    }
    return smaller;
  }

  bool without_options() {
    bool smaller = attempt([](Program& p) { p.max_pending_nodes = 0; });
    smaller |= attempt([](Program& p) { p.max_inflight_steps = 0; });
    smaller |= attempt([](Program& p) { p.delays = 0; });
    smaller |= attempt([](Program& p) { p.support = toy::Support::all; });
    smaller |= attempt([](Program& p) { p.on_toy = false; });
    return smaller;
  }

  bool with_smaller_numbers() {
    bool smaller = false;
    for (std::size_t p = 0; p < program_.phases.size(); ++p) {
      for (std::size_t t = 0; t < program_.phases[p].size(); ++t) {
        for (std::size_t k = 0; k < program_.phases[p][t].size(); ++k) {
          for (std::uint8_t Instruction::* number : {&Instruction::target, &Instruction::a, &Instruction::b}) {
            smaller |= attempt([&](Program& q) { q.phases[p][t][k].*number = 0; });
          }
          smaller |= attempt([&](Program& q) { q.phases[p][t][k].constant = 0; });
        }
      }
    }
    return smaller;
  }

  Program program_;
  const Fails& fails_;
  int attempts_ = 0;
  Clock::time_point end_;
};

}  // namespace

int attempts_for(const Program& program, const Fails& fails) {
  constexpr int kRuns = 30;
  int failures = 0;
  for (int i = 0; i < kRuns; ++i) failures += fails(program) ? 1 : 0;
  if (failures == kRuns) return 1;
  // A part of the program may fail more rarely than the whole: four times what one failure takes on average.
  return std::min(100, 4 * kRuns / std::max(failures, 1));
}

Reduced reduce(Program program, const Fails& fails, std::chrono::seconds patience) {
  return Reducer(std::move(program), fails, patience).reduce();
}

}  // namespace lento::fuzz

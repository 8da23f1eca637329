// Running a program, both ways, and comparing what was seen.
#include "fuzz/operations.h"

#include "backends/testing/testing.h"
#include "backends/toy/toy.h"

#include <algorithm>
#include <barrier>
#include <memory>
#include <set>
#include <thread>

namespace lento::fuzz {

namespace {

std::vector<Tensor> make_inputs(Device device) {
  std::vector<Tensor> inputs;
  for (int which = 0; which < kInputs; ++which) {
    std::vector<double> values;
    for (int k = 0; k < 6; ++k) values.push_back(0.25 * (k + 1) * (which % 2 == 0 ? 1 : -1) + which);
    inputs.push_back(tensor(values, Shape{2, 3}, device));
  }
  return inputs;
}

/// The program's options and its device while it runs.
class ProgramOptions {
 public:
  explicit ProgramOptions(const Program& program) : saved_(options()) {
    testing::register_testing_backends();
    if (program.on_toy) {
      toy::register_toy();
      toy::set_support(program.support);
      toy::set_delays(program.delays);
      set_default_device(Device("toy"));
    }
    Options changed = saved_;
    if (program.max_pending_nodes != 0) changed.max_pending_nodes = program.max_pending_nodes;
    if (program.max_inflight_steps != 0) changed.max_inflight_steps = program.max_inflight_steps;
    set_options(changed);
  }
  ~ProgramOptions() {
    set_options(saved_);
    set_default_device(device_);
    toy::set_delays(0);
    toy::set_support(toy::Support::all);
  }
  ProgramOptions(const ProgramOptions&) = delete;
  ProgramOptions& operator=(const ProgramOptions&) = delete;

 private:
  Options saved_;
  Device device_;
};

bool operands_are_there(const Worker& w, const Instruction& i, unsigned fields) {
  return ((fields & kUpdate) == 0 || w.registers[i.target].defined()) &&
         ((fields & kA) == 0 || w.registers[i.a].defined()) && ((fields & kB) == 0 || w.registers[i.b].defined());
}

void execute(Worker& w, const Instruction& i, const Sabotage& sabotage) {
  const Operation& operation = operations()[i.operation];
  if (!operands_are_there(w, i, operation.fields)) return;
  try {
    despite_fault([&] { operation.execute(w, i); });
  } catch (const IndexError& error) {
    // When a failure of the trace is noticed depends on when it ran; that it is there is seen by reading.
    if ((operation.fields & kEvaluates) == 0) w.seen.push_back(failure_text(error));
  } catch (const std::exception& error) {
    w.seen.emplace_back(error.what());
  }
  if (sabotage && !w.eager) sabotage(operation.name, w.registers[i.target]);
}

void run_instructions(Worker& w, const Instructions& instructions, const Sabotage& sabotage) {
  for (const Instruction& instruction : instructions) {
    execute(w, instruction, sabotage);
    if (!w.eager) continue;
    for (const Tensor& x : w.registers) {
      if (std::string text = text_of(x); text.starts_with(kFailed)) w.failures.insert(std::move(text));
    }
  }
}

/// Runs the closures that are left, also those that closures add.
void drain_closures() {
  for (int round = 0; round < 3; ++round) {
    for (const Device device : {Device(), testing::faulty_device()}) {
      try {
        despite_fault([&] { step(device); });
      } catch (const IndexError&) {  // seen by reading
      }
    }
    wait_closures();
  }
}

std::size_t live_bytes() { return memory().live + memory(testing::faulty_device()).live; }

/// Waits until nothing is under way; failures have been seen by reading.
void wait_for_all() {
  while (true) {
    try {
      return wait();
    } catch (const IndexError&) {
    }
  }
}

struct Outcome {
  Observed observed;
  std::set<std::string> failures;  // of an eager run: of every value there was
};

Outcome run(const Program& program, bool eager, const Sabotage& sabotage) {
  const auto count = static_cast<std::size_t>(program.threads);
  const std::vector<Tensor> inputs = make_inputs(Device());
  const std::vector<Tensor> async_inputs = make_inputs(testing::faulty_device());
  std::vector<std::unique_ptr<Generator>> generators;
  std::vector<Slots> board(count);
  std::vector<Slots> next(count);
  std::vector<Worker> workers(count);
  default_generator().seed(1);
  for (std::size_t t = 0; t < count; ++t) {
    generators.push_back(std::make_unique<Generator>(t));
    workers[t].eager = eager;
    workers[t].generator = count == 1 ? nullptr : generators[t].get();
    workers[t].inputs = &inputs;
    workers[t].async_inputs = &async_inputs;
    workers[t].board = &board;
    workers[t].mine = &next[t];
  }
  const auto end_phase = [&]() noexcept { board = next; };
  if (eager || count == 1) {
    for (const auto& phase : program.phases) {
      for (std::size_t t = 0; t < count; ++t) run_instructions(workers[t], phase[t], sabotage);
      end_phase();
    }
  } else {
    std::barrier barrier(static_cast<std::ptrdiff_t>(count), end_phase);
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < count; ++t) {
      threads.emplace_back([&, t] {
        for (const auto& phase : program.phases) {
          run_instructions(workers[t], phase[t], sabotage);
          barrier.arrive_and_wait();
        }
      });
    }
  }
  drain_closures();
  Outcome outcome{Observed(count), {}};
  Observed& observed = outcome.observed;
  for (std::size_t t = 0; t < count; ++t) {
    outcome.failures.merge(workers[t].failures);
    observed[t] = std::move(workers[t].seen);
    for (const auto& saw : workers[t].closures_saw) observed[t].push_back(*saw);
    for (const Tensor& x : workers[t].registers) observed[t].push_back(text_of(x));
  }
  testing::inject(testing::Fault::none);
  return outcome;
}

/// What depends on two failures shows one of them; which, is open.
bool same(const std::string& lazily, const std::string& eagerly, const std::set<std::string>& failures) {
  return lazily == eagerly || (eagerly.starts_with(kFailed) && failures.contains(lazily));
}

}  // namespace

namespace {

Observed observe(const Program& program, const Sabotage& sabotage) {
  const std::size_t before = live_bytes();
  Observed observed = run(program, false, sabotage).observed;
  wait_for_all();
  if (const std::size_t after = live_bytes(); after != before) {
    observed[0].push_back("there are " + std::to_string(after) + " live bytes, before there were " +
                          std::to_string(before));
  }
  return observed;
}

}  // namespace

Observed run_lazily(const Program& program, const Sabotage& sabotage) {
  const ProgramOptions options(program);
  return observe(program, sabotage);
}

std::string difference(const Program& program, const Sabotage& sabotage) {
  const ProgramOptions options(program);
  const Observed lazy = observe(program, sabotage);
  const Outcome eager = run(program, true, {});
  wait_for_all();
  for (std::size_t t = 0; t < lazy.size(); ++t) {
    const std::vector<std::string>& wanted = eager.observed[t];
    for (std::size_t k = 0; k < std::max(lazy[t].size(), wanted.size()); ++k) {
      const std::string lazily = k < lazy[t].size() ? lazy[t][k] : "nothing more";
      const std::string eagerly = k < wanted.size() ? wanted[k] : "nothing more";
      if (same(lazily, eagerly, eager.failures)) continue;
      return "thread " + std::to_string(t) + ", observation " + std::to_string(k) + ":\n  lazily:  " + lazily +
             "\n  eagerly: " + eagerly + "\n";
    }
  }
  return "";
}

}  // namespace lento::fuzz

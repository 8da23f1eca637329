#include "executor/evaluate.h"

#include "backend/backend.h"
#include "base/counters.h"
#include "base/fail.h"
#include "ir/op.gen.h"
#include "ir/tape.h"
#include "tensor/record.h"
#include "tensor/tapes.h"

#include <algorithm>
#include <vector>

namespace lento {

namespace {

const CounterId kTrimmed = counter_id("graph.trimmed");
const CounterId kImplicitSync = counter_id("sync.implicit");

/// What one evaluation of a tape computes and what it leaves behind. All marks have one byte a record.
struct Selection {
  std::vector<std::uint8_t> need;      // computed now
  std::vector<std::uint8_t> live;      // reached by a live handle
  std::vector<std::uint32_t> outputs;  // needed records whose values somebody wants afterwards, ascending
};

/// From the marked roots: their ancestors, the further results of ops among them, and which values to keep.
Selection select(const Tape& tape, std::vector<std::uint8_t> roots) {
  Selection selection{std::move(roots), tape.mark_live(), {}};
  std::vector<std::uint8_t>& need = selection.need;
  tape.mark_ancestors(need);
  for (std::uint32_t i = 0; i < tape.size(); ++i) {
    const Record& record = tape.record(i);
    // An op computes all its results at once: take those that are wanted later with it.
    if (record.op == Op::result && selection.live[i] != 0 && need[record.operands[0].index()] != 0) need[i] = 1;
  }
  std::vector<std::uint8_t> wanted(tape.size());
  for (std::uint32_t i = 0; i < tape.size(); ++i) {
    if (need[i] != 0) {
      wanted[i] |= tape.handle(i) != nullptr ? 1 : 0;
    } else if (selection.live[i] != 0) {
      for (const OperandRef operand : tape.operands(tape.record(i))) {
        if (operand.kind() == OperandRef::Kind::record) wanted[operand.index()] = 1;
      }
    }
  }
  for (std::uint32_t i = 0; i < tape.size(); ++i) {
    if (need[i] != 0 && wanted[i] != 0) selection.outputs.push_back(i);
  }
  return selection;
}

/// Leaves that nothing reads once the selected records have run: no record that stays, and no holder but the tape
/// (whose reference is one) and this run (another).
std::vector<std::uint8_t> donations(const Tape& tape, const Selection& selection, const Tape::Extract& extract,
                                    std::span<const BufferRef> inputs) {
  std::vector<std::uint8_t> stays(tape.leaf_count());
  for (std::uint32_t i = 0; i < tape.size(); ++i) {
    if (selection.live[i] == 0 || selection.need[i] != 0) continue;
    for (const OperandRef operand : tape.operands(tape.record(i))) {
      if (operand.kind() == OperandRef::Kind::leaf) stays[operand.index()] = 1;
    }
  }
  std::vector<std::uint8_t> donated(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool only_here = inputs[i]->refs.load(std::memory_order_acquire) == 2;
    donated[i] = only_here && stays[extract.leaf_of[i]] == 0 ? 1 : 0;
  }
  return donated;
}

void install(TensorState& state, const Outcome& outcome) {
  state.buffer = outcome.buffer;
  state.failure = outcome.failure;
  state.tape.store(nullptr, std::memory_order_release);
}

void handle_moved(TensorState* state, std::uint32_t index) { state->index = index; }

/// Gives every handle of a computed record its value, poisons what depends on failures, and closes the gaps.
void settle(Tape& tape, const Selection& selection, std::span<const Outcome> outcomes) {
  std::vector<Leaf> computed(tape.size());
  std::vector<const FailureRef*> failed(tape.size());
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    const std::uint32_t i = selection.outputs[k];
    const Record& record = tape.record(i);
    computed[i] = {outcomes[k].buffer, record.dtype, record.shape};
    if (outcomes[k].failure) failed[i] = &outcomes[k].failure;
    if (TensorState* handle = tape.handle(i)) install(*handle, outcomes[k]);
  }
  std::vector<std::uint8_t> keep(tape.size());
  for (std::uint32_t i = 0; i < tape.size(); ++i) {
    if (selection.need[i] != 0 || selection.live[i] == 0) continue;
    for (const OperandRef operand : tape.operands(tape.record(i))) {
      if (operand.kind() == OperandRef::Kind::record && failed[operand.index()] != nullptr)
        failed[i] = failed[operand.index()];
    }
    if (failed[i] == nullptr) {
      keep[i] = 1;
    } else if (TensorState* handle = tape.handle(i)) {
      install(*handle, {{}, *failed[i]});
    }
  }
  tape.rebuild(keep, computed, handle_moved);
}

/// Computes the marked records and all they need. Needs the tape's lock, which is held throughout.
void evaluate_marked(Tape& tape, std::vector<std::uint8_t> roots) {
  const Selection selection = select(tape, std::move(roots));
  Tape::Extract extract = tape.extract(selection.need, selection.outputs);
#ifndef NDEBUG
  verify(extract.graph);
#endif
  std::vector<BufferRef> inputs;
  inputs.reserve(extract.leaf_of.size());
  for (const std::uint32_t leaf : extract.leaf_of) inputs.push_back(tape.leaf(leaf).buffer);
  const std::vector<std::uint8_t> donated = donations(tape, selection, extract, inputs);
  std::vector<Outcome> outcomes(selection.outputs.size());
  const std::vector<ScalarArgument> scalars = extract.graph.scalars;
  const std::unique_ptr<Program> program = backend_of(tape.device).compile(std::move(extract.graph), tape.device);
  program->run({inputs, donated, scalars, outcomes});
  inputs.clear();
  settle(tape, selection, outcomes);
}

void evaluate_one(TensorState& state) {
  TensorState* const states[] = {&state};
  evaluate(states);
}

/// Clause T9: drops what nobody needs; when that is not enough, computes the older half.
void trim(Tape& tape) {
  const TapeGuard guard(tape);
  const std::vector<std::uint8_t> live = tape.mark_live();
  const auto reached = static_cast<std::uint32_t>(std::count(live.begin(), live.end(), 1));
  if (reached <= max_pending_nodes() / 2) {
    tape.rebuild(live, {}, handle_moved);
    return;
  }
  std::vector<std::uint8_t> older = live;
  std::fill(older.begin() + tape.size() / 2, older.end(), std::uint8_t{0});
  evaluate_marked(tape, std::move(older));
  count(kTrimmed);
}

[[maybe_unused]] const bool installed = (set_evaluator({evaluate_one, trim}), true);

}  // namespace

void evaluate(std::span<TensorState* const> states) {
  for (TensorState* first : states) {
    Tape* tape = first->tape.load(std::memory_order_acquire);
    if (tape == nullptr) continue;
    const TapeGuard guard(*tape);
    // All that are pending in the same tape go together. One may have become ready while we waited for the lock.
    std::vector<std::uint8_t> roots(tape->size());
    bool any = false;
    for (const TensorState* state : states) {
      if (state->tape.load(std::memory_order_relaxed) != tape) continue;
      roots[state->index] = 1;
      any = true;
    }
    if (any) evaluate_marked(*tape, std::move(roots));
  }
}

void evaluate_all(std::uint8_t device) {
  Tape& tape = tape_for(device);
  const TapeGuard guard(tape);
  if (tape.size() != 0) evaluate_marked(tape, tape.mark_live());
}

const void* read_value(TensorState& state) {
  if (state.pending()) {
    count(kImplicitSync);
    evaluate_one(state);
  }
  if (state.failure) state.failure->raise();
  return backend_of(state.device).host_pointer(*state.buffer);
}

}  // namespace lento

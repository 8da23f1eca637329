#include "executor/evaluate.h"

#include "backend/backend.h"
#include "base/counters.h"
#include "base/fail.h"
#include "base/interrupt.h"
#include "base/timings.h"
#include "base/usable_devices.h"
#include "executor/closures.h"
#include "executor/fallbacks.h"
#include "executor/memory_limit.h"
#include "executor/plan_cache.h"
#include "executor/replay.h"
#include "executor/run.h"
#include "executor/save_graphs.h"
#include "executor/syncs.h"
#include "executor/transfer.h"
#include "executor/workers.h"
#include "ir/op_index_map.gen.h"
#include "ir/op_number.h"
#include "ir/tape.h"
#include "tensor/record.h"
#include "tensor/tapes.h"
#include "tensor/watch.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace lento {

namespace {

const CounterId kTrimmed = counter_id("graph.trimmed");
const CounterId kHit = counter_id("plan.hit");
const CounterId kImplicitSync = counter_id("sync.implicit");
const CounterId kWaitSync = counter_id("sync.wait");
const TimingId kSyncTime = timing_id("sync");

/// What one evaluation of a tape computes and what it leaves behind. All marks have one byte per record.
struct Selection {
  std::vector<std::uint8_t> need;      // computed now
  std::vector<std::uint8_t> live;      // reached by a live handle
  std::vector<std::uint8_t> lasting;   // views of shared memory that are needed now and stay in the tape
  std::vector<std::uint32_t> outputs;  // needed records whose values somebody wants afterwards, ascending
};

/// True for a record that reads memory of somebody else by strides (clause X2). Whoever reads it reads the memory where
/// it lies, so that a step has nothing to compute for it; it stays in the tape as long as its handle lives. Only who
/// asks for it alone gets a copy.
bool is_shared_view(const Tape& tape, std::uint32_t index) {
  const Record& record = tape.record(index);
  if (record.op != op::as_strided || record.operands[0].kind() != OperandRef::Kind::leaf) return false;
  const Value& value = *tape.leaf(record.operands[0].index()).value;
  return value.issued() && value.buffer && value.buffer->shared();
}

/// The marks without those views: what needs them marks them again.
std::vector<std::uint8_t> without_shared_views(const Tape& tape, std::vector<std::uint8_t> marks) {
  for (std::uint32_t i = 0; i < marks.size(); ++i) {
    if (marks[i] != 0 && is_shared_view(tape, i)) marks[i] = 0;
  }
  return marks;
}

/// From the marked roots: their ancestors, the further results of ops among them, and which values to keep.
Selection select(const Tape& tape, const std::vector<std::uint8_t>& roots) {
  Selection selection{roots, tape.mark_live(), std::vector<std::uint8_t>(tape.size()), {}};
  std::vector<std::uint8_t>& need = selection.need;
  tape.mark_ancestors(need);
  for (std::uint32_t i = 0; i < tape.size(); ++i) {
    const Record& record = tape.record(i);
    // An op computes all its results at once: take those that are wanted later with it.
    if (record.op == op::result && selection.live[i] != 0 && need[record.operands[0].index()] != 0) need[i] = 1;
  }
  std::vector<std::uint8_t> wanted(tape.size());
  const auto keep = [&](std::uint32_t i) {
    (roots[i] == 0 && is_shared_view(tape, i) ? selection.lasting : wanted)[i] = 1;
  };
  for (std::uint32_t i = 0; i < tape.size(); ++i) {
    if (need[i] != 0) {
      if (tape.handle(i) != nullptr) keep(i);
    } else if (selection.live[i] != 0) {
      for (const OperandRef operand : tape.operands(tape.record(i))) {
        if (operand.kind() == OperandRef::Kind::record) keep(operand.index());
      }
    }
  }
  for (std::uint32_t i = 0; i < tape.size(); ++i) {
    if (need[i] != 0 && wanted[i] != 0) selection.outputs.push_back(i);
  }
  return selection;
}

/// The handle of a record that is being computed leaves the tape with a promise.
void install(TensorState& state, const ValueRef& value) {
  give_value(state, value);
  state.tape.store(nullptr, std::memory_order_release);
}

ValueRef promise(const Tape& tape, std::uint32_t record, const CompletionRef& completion) {
  return Value::future(completion,
                       {tape.record(record).dtype, tape.device, tape.record(record).shape, tape.source(record)});
}

void handle_moved(TensorState* state, std::uint32_t index) { state->index = index; }

/// Takes the selected records out of the tape: their handles get promises, later records read those as leaves. The tape
/// may have grown since it was selected. Needs the tape's lock.
std::unique_ptr<Run> bind_run(Tape& tape, const Selection& selection, Tape::Extract& extract, PlanPtr plan) {
  auto run = std::make_unique<Run>(std::move(plan));
  run->scalars = std::move(extract.graph.scalars);
  run->sources = std::make_shared<const std::vector<Source>>(std::move(extract.graph.sources));
  for (const std::uint32_t leaf : extract.leaf_of) run->inputs.push_back(tape.leaf(leaf).value);
  std::vector<std::uint8_t> keep(tape.size(), 1);
  for (std::size_t i = 0; i < selection.need.size(); ++i) {
    keep[i] = selection.live[i] != 0 && (selection.need[i] == 0 || selection.lasting[i] != 0);
  }
  std::vector<Leaf> computed(tape.size());
  std::vector<TensorState*> handles;
  handles.reserve(selection.outputs.size());
  for (const std::uint32_t i : selection.outputs) {
    run->outputs.push_back(promise(tape, i, run->completion));
    computed[i] = {run->outputs.back(), tape.record(i).dtype, tape.record(i).shape};
    handles.push_back(tape.handle(i));
  }
  // From here on nothing throws, except for rebuild() before it has changed anything: a promise that somebody holds is
  // kept.
  tape.rebuild(keep, computed, handle_moved);
  for (std::size_t k = 0; k < handles.size(); ++k) {
    if (handles[k] != nullptr) install(*handles[k], run->outputs[k]);
  }
  return run;
}

/// The same for a tape that equals an image: nothing stays.
std::unique_ptr<Run> bind_run(Tape& tape, TapeImage& image) {
  auto run = std::make_unique<Run>(image.plan);
  run->sources = image.sources_in(tape);
  run->inputs.reserve(image.leaf_of.size());
  run->scalars.reserve(image.scalar_of.size());
  run->outputs.reserve(image.live.size());
  for (const std::uint32_t leaf : image.leaf_of) run->inputs.push_back(tape.leaf(leaf).value);
  for (const std::uint32_t scalar : image.scalar_of) run->scalars.push_back(tape.scalar(scalar));
  for (const std::uint32_t i : image.live) run->outputs.push_back(promise(tape, i, run->completion));
  // From here on nothing throws.
  for (std::size_t k = 0; k < image.live.size(); ++k) install(*tape.handle(image.live[k]), run->outputs[k]);
  tape.clear();
  return run;
}

/// Which inputs nobody but the tape holds: a run that takes them out of it may write into them.
std::vector<std::uint8_t> given_away(Tape& tape, const Tape::Extract& extract, std::uint64_t version) {
  std::vector<std::uint8_t> given(extract.leaf_of.size());
  const TapeGuard guard(tape);
  if (tape.version() != version) return given;  // it will be looked at again
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Value& value = *tape.leaf(extract.leaf_of[i]).value;
    given[i] = value.held_once() && value.issued() && value.buffer && value.buffer->unique();
  }
  return given;
}

/// True when the evaluation takes the whole tape and every value it keeps has a handle: a tape that looks the same can
/// be replayed.
bool takes_all(const Tape& tape, const Selection& selection) {
  return tape.size() == selection.need.size() && tape.live() == selection.outputs.size() &&
         std::ranges::all_of(selection.outputs, [&](std::uint32_t i) { return tape.handle(i) != nullptr; });
}

/// Evaluates what `mark(tape)` marks and all it needs. Compiling happens without the lock: when it fails, nothing has
/// been changed (clause E6); when another thread changed the tape meanwhile, everything is looked at again.
template <class Mark>
CompletionRef evaluate_marked(Tape& tape, const Mark& mark, AfterLaunch next, bool remember = false) {
  CompletionRef completion;
  std::optional<SavedGraph> saved;
  while (true) {
    Selection selection;
    Tape::Extract extract;
    std::uint64_t version = 0;
    {
      const TapeGuard guard(tape);
      const std::vector<std::uint8_t> roots = mark(tape);
      if (std::ranges::find(roots, 1) == roots.end()) return {};
      selection = select(tape, roots);
      extract = tape.extract(selection.need, selection.outputs);
      version = tape.version();
    }
#ifndef NDEBUG
    verify(extract.graph);
#endif
    require_usable(tape.device);
    PlanPtr plan = plan_cache().find_or_compile(extract.graph, tape.device);
    check_fallbacks(*plan, extract.graph.sources);
    check_memory(*plan, extract.graph.sources, [&] { return given_away(tape, extract, version); });
    if (saves_graphs()) saved = {extract.graph, plan};
    Launch launch;
    std::unique_ptr<Run> run;
    {
      const TapeGuard guard(tape);
      if (tape.version() != version) continue;
      if (remember && takes_all(tape, selection) && owned_by_caller(tape)) {
        if (Replay* replay = replay_of(tape.device)) {
          replay->remember(TapeImage(tape, extract, selection.outputs, plan));
        }
      }
      run = bind_run(tape, selection, extract, std::move(plan));
    }
    count_run(*run);
    completion = launch.start(std::move(run), next);
    break;
  }
  if (saved) save_graph(*saved);
  return completion;
}

/// Runs a tape that the caller has evaluated lately and recognises; null when it does not.
CompletionRef replay(Tape& tape, AfterLaunch next) {
  // What has to be looked at more closely takes the longer way.
  if (!owned_by_caller(tape) || saves_graphs() || memory_is_limited(tape.device)) return {};
  require_usable(tape.device);
  Launch launch;
  std::unique_ptr<Run> run;
  {
    const TapeGuard guard(tape);
    Replay* replay = replay_of(tape.device);
    TapeImage* image = tape.size() == 0 || replay == nullptr ? nullptr : replay->find(tape);
    if (image == nullptr || is_refused(*image->plan)) return {};
    image->plan->used.store(true, std::memory_order_relaxed);
    run = bind_run(tape, *image);
  }
  count(kHit);
  count_run(*run);
  return launch.start(std::move(run), next);
}

void evaluate_one(TensorState& state) {
  TensorState* const states[] = {&state};
  (void)evaluate(states);
}

std::vector<std::uint8_t> roots_in(const Tape& tape, std::span<TensorState* const> states) {
  std::vector<std::uint8_t> roots(tape.size());
  for (const TensorState* state : states) {
    if (state->tape.load(std::memory_order_relaxed) == &tape) roots[state->index] = 1;
  }
  return roots;
}

/// True when all that is live in the tape is computed with these, so that to evaluate them is a step.
bool take_all(Tape& tape, std::span<TensorState* const> states) {
  const TapeGuard guard(tape);
  std::vector<std::uint8_t> marks = roots_in(tape, states);
  if (without_shared_views(tape, marks) != marks) return false;
  if (static_cast<std::size_t>(std::ranges::count(marks, 1)) == tape.live()) return true;
  tape.mark_ancestors(marks);
  for (std::uint32_t i = 0; i < tape.size(); ++i) {
    if (marks[i] == 0 && tape.handle(i) != nullptr) return false;
  }
  return true;
}

void allow_trimming(Tape& tape) {
  const TapeGuard guard(tape);
  tape.trim_again_at = 0;
}

/// Clause T9: drops what nobody needs; when that is not enough, computes the older half. When that cannot be compiled,
/// the op that made the trace too long is not to blame: whoever asks for a value will hear of it, and until then the
/// trace may double.
void trim(Tape& tape) {
  {
    const TapeGuard guard(tape);
    if (tape.size() < tape.trim_again_at) return;
    const std::vector<std::uint8_t> live = tape.mark_live();
    const auto reached = static_cast<std::uint32_t>(std::count(live.begin(), live.end(), 1));
    if (reached <= max_pending_nodes() / 2) {
      tape.rebuild(live, {}, handle_moved);
      return;
    }
    tape.trim_again_at = tape.size() * 2;
  }
  try {
    wait_for_room(tape.device);
    evaluate_marked(
        tape,
        [](const Tape& t) {
          std::vector<std::uint8_t> older = t.mark_live();
          std::fill(older.begin() + t.size() / 2, older.end(), std::uint8_t{0});
          return older;
        },
        AfterLaunch::go_on);
  } catch (const Error&) {
    return;
  } catch (...) {  // interrupted
    allow_trimming(tape);
    throw;
  }
  count(kTrimmed);
  allow_trimming(tape);
}

[[maybe_unused]] const bool installed = (set_evaluator({evaluate_one, trim}), true);

}  // namespace

std::vector<Launched> evaluate(std::span<TensorState* const> states, AfterLaunch next) {
  std::vector<Launched> launched;
  for (std::size_t i = 0; i < states.size(); ++i) {
    Tape* tape = states[i]->tape.load(std::memory_order_acquire);
    if (tape == nullptr) continue;
    require_usable(tape->device);
    wait_for_room(tape->device);
    // A caller that does the first of several runs itself would keep the others waiting.
    const bool more = std::ranges::any_of(states.subspan(i + 1), [&](const TensorState* state) {
      const Tape* other = state->tape.load(std::memory_order_acquire);
      return other != nullptr && other != tape;
    });
    const AfterLaunch then = more ? AfterLaunch::go_on : next;
    // All that are pending in the same tape go together. One may become ready while we wait for the lock.
    CompletionRef run = take_all(*tape, states)
                            ? evaluate_all(*tape, then)
                            : evaluate_marked(*tape, [&](const Tape& t) { return roots_in(t, states); }, then);
    if (run) launched.push_back({tape->device, std::move(run)});
  }
  return launched;
}

PendingGraph pending_graph(std::span<TensorState* const> states) {
  Tape* tape = nullptr;
  for (const TensorState* state : states) {
    Tape* home = state->tape.load(std::memory_order_acquire);
    if (home == nullptr) continue;
    if (tape != nullptr && home != tape)
      fail<ValueError>("the tensors are pending in different threads or on different devices");
    tape = home;
  }
  if (tape == nullptr) return {};
  const TapeGuard guard(*tape);
  const Selection selection = select(*tape, roots_in(*tape, states));
  Tape::Extract extract = tape->extract(selection.need, selection.outputs);
  PendingGraph pending{tape->device, std::move(extract.graph), {}, {}};
  for (const std::uint32_t leaf : extract.leaf_of) pending.inputs.push_back(tape->leaf(leaf).value);
  for (const std::uint32_t output : selection.outputs) {
    const TensorState* handle = tape->handle(output);
    pending.output_ids.push_back(handle == nullptr ? 0 : handle->id);
  }
  return pending;
}

CompletionRef evaluate_all(Tape& tape, AfterLaunch next) {
  if (CompletionRef launched = replay(tape, next)) return launched;
  return evaluate_marked(tape, [](const Tape& t) { return without_shared_views(t, t.mark_live()); }, next, true);
}

const void* read_value(TensorState& state) {
  tell_watchers([&](Watcher& watcher) { watcher.reading(state); });
  const bool in_closure = inside_closure();
  bool waits_for_started = false;
  if (state.pending()) {
    if (!in_closure) {
      count(kImplicitSync);
      note_sync(current_call.source);
    }
    TensorState* const states[] = {&state};
    (void)evaluate(states, AfterLaunch::wait);
  } else if (!in_closure && !state.value->settled()) {
    count(kWaitSync);
    warn_of_wait(current_call.source);
    waits_for_started = true;
  }
  if (!state.value->settled() || waits_for_started) {
    const TimedSection timed(kSyncTime);
    state.value->wait();
    if (waits_for_started) note_wait(WaitKind::value, current_call.source, timed.so_far());
  }
  if (state.value->failure) state.value->failure->raise();
  return host_view(*state.value);
}

}  // namespace lento

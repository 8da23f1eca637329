// compile() in C++: what does not depend on the types of arguments and results. Handles are the tensors of arguments.
#include <lento/compile.h>

#include "base/fail.h"
#include "base/format.h"
#include "executor/frozen_call.h"
#include "executor/warn.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>

namespace lento {

namespace {

constexpr std::size_t kMostSignatures = 64;
constexpr int kMostAttempts = 4;

/// What host_number() was asked with, in the call that this thread records.
thread_local std::vector<std::function<Scalar()>>* asked = nullptr;

struct Like {
  DType dtype;
  ShapeId shape;
  std::uint8_t device;
  friend bool operator==(const Like&, const Like&) = default;
};

/// A handle that the call gives another value, and where that comes from.
struct Change {
  std::uint32_t handle;
  Slot slot;
  friend bool operator==(const Change&, const Change&) = default;
};

/// One call that was recorded.
struct Recorded {
  CallGraph call;
  std::vector<Change> changes;
  std::vector<Slot> results;
  std::vector<std::function<Scalar()>> asked;
};

std::string with_line(const std::string& text, const Source& line) {
  const std::string place = to_string(line);
  return place.empty() ? text : text + ", at " + place;
}

}  // namespace

Scalar host_number(const std::function<Scalar()>& function) {
  const Scalar number = function();
  if (HostNumbers* const host = current_host_numbers(); host != nullptr && asked != nullptr) {
    asked->push_back(function);
    host->expect(host->give(number), true);
  }
  return number;
}

namespace detail {

/// One signature.
struct Known {
  Known(std::type_index t, std::string f, std::vector<Like> h, std::uint8_t d, std::any v)
      : type(t), form(std::move(f)), handles(std::move(h)), device(d), values(std::move(v)) {}

  const std::type_index type;
  const std::string form;
  const std::vector<Like> handles;
  const std::uint8_t device;  // the default device
  const std::any values;
  // From here on guarded by the table's lock:
  std::shared_ptr<const Recorded> last;
  int attempts = 0;
  bool is_plain = false;
  bool is_frozen = false;
  KnownPlan plan;
  std::any result;
  std::size_t until_verified = 0;
};

struct CompiledCalls::Table {
  std::mutex mutex;
  std::vector<std::shared_ptr<Known>> signatures;  // the last used first
  std::set<std::string> told;
  std::size_t verify = 0;
  std::string name;
};

CompiledCalls::CompiledCalls(std::size_t verify, const std::source_location& made) : table_(std::make_shared<Table>()) {
  table_->verify = verify;
  table_->name = with_line("the function compiled", Source::from(made));
}
CompiledCalls::~CompiledCalls() = default;

struct [[gnu::visibility("hidden")]] CompiledCalls::Call::State {
  std::shared_ptr<Table> table;
  std::shared_ptr<Known> known;
  std::vector<Tensor*> handles;
  std::vector<Tensor> before;  // while it is recorded
  std::source_location site;
  bool is_inside = false;  // of a derivative, a vmap or another recording, which the function is a part of
  bool is_verified = false;
  std::unique_ptr<CallRecorder> recorder;
  std::vector<std::function<Scalar()>> asked;
  std::any form;

  ~State() {
    if (recorder != nullptr && lento::asked == &asked) lento::asked = nullptr;
  }

  void give_up(const std::string& reason);
  std::shared_ptr<const Recorded> describe(const std::vector<Tensor>& results);
  std::optional<std::string> disagreement(const Recorded& last, const Recorded& now) const;
};

CompiledCalls::Call::Call(CompiledCalls& calls, std::vector<Tensor*> handles, std::string form, std::type_index type,
                          const std::function<bool(const std::any&)>& same, const std::function<std::any()>& values,
                          const std::source_location& site)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.table = calls.table_;
  state.site = site;
  state.handles = std::move(handles);
  std::vector<Like> like;
  for (const Tensor* handle : state.handles) {
    if (!handle->defined()) {
      state.is_inside = true;  // the function says what is wrong
      return;
    }
    const TensorState& tensor = state_of(*handle);
    like.push_back({tensor.dtype, tensor.shape, tensor.device});
  }
  std::vector<Tensor*> sorted = state.handles;
  std::ranges::sort(sorted);
  state.is_inside = current_watcher != nullptr || std::ranges::adjacent_find(sorted) != sorted.end();
  if (state.is_inside) return;
  Table& table = *state.table;
  const std::uint8_t device = Device().id();
  const std::lock_guard lock(table.mutex);
  const auto found = std::ranges::find_if(table.signatures, [&](const auto& known) {
    return known->type == type && known->device == device && known->handles == like && known->form == form &&
           same(known->values);
  });
  if (found != table.signatures.end()) {
    state.known = *found;
    std::rotate(table.signatures.begin(), found, found + 1);
    return;
  }
  state.known = std::make_shared<Known>(type, std::move(form), std::move(like), device, values());
  table.signatures.insert(table.signatures.begin(), state.known);
  if (table.signatures.size() > kMostSignatures) table.signatures.pop_back();
}

CompiledCalls::Call::~Call() = default;

bool CompiledCalls::Call::run(std::vector<Tensor>& results) {
  State& state = *state_;
  if (state.is_inside) return false;
  const CallScope scope("compile", state.site);
  Known& known = *state.known;
  KnownPlan plan;
  std::shared_ptr<const Recorded> last;
  {
    const std::lock_guard lock(state.table->mutex);
    if (!known.is_frozen) return false;
    if (state.table->verify != 0 && ++known.until_verified % state.table->verify == 0) {
      state.is_verified = true;
      return false;
    }
    plan = known.plan;
    state.form = known.result;
    last = known.last;
  }
  const Recorded& frozen = *last;
  std::vector<Scalar> numbers;  // asked for first: to ask may change tensors
  for (const std::function<Scalar()>& function : frozen.asked) numbers.push_back(function());
  const auto handle_of = [&](std::uint32_t leaf) -> const Tensor& {
    const std::int64_t handle = frozen.call.origins[leaf].handle;
    return handle < 0 ? frozen.call.leaves[leaf] : *state.handles[static_cast<std::size_t>(handle)];
  };
  std::vector<Tensor> inputs;
  std::vector<std::uint8_t> replaced;
  for (const std::uint32_t leaf : frozen.call.reads) {
    inputs.push_back(handle_of(leaf));
    const std::int64_t handle = frozen.call.origins[leaf].handle;
    replaced.push_back(
        std::ranges::any_of(frozen.changes, [&](const Change& change) { return change.handle == handle; }) ? 1 : 0);
  }
  FrozenRun run(frozen.call, std::move(inputs), replaced, plan);
  if (!run.take_numbers(numbers)) {
    const std::lock_guard lock(state.table->mutex);
    if (known.last == last) {
      known.is_frozen = false;
      known.last = nullptr;
    }
    return false;
  }
  std::vector<Tensor> old;
  {
    const std::vector<Tensor> outputs = run.bind();
    const auto taken = [&](const Slot& slot) {
      return slot.is_computed ? outputs[slot.index] : Tensor(handle_of(slot.index));
    };
    std::vector<Tensor> values;
    for (const Change& change : frozen.changes) values.push_back(taken(change.slot));
    for (const Slot& slot : frozen.results) results.push_back(taken(slot));
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::swap(*state.handles[frozen.changes[i].handle], values[i]);
      // What is pending lets its tape go only once the run has begun.
      if (state_of(values[i]).pending()) old.push_back(std::move(values[i]));
    }
  }
  run.start(AfterLaunch::go_on);
  const std::lock_guard lock(state.table->mutex);
  if (known.last == last) known.plan = run.plan();  // a plan of another graph would compute something else
  return true;
}

const std::any& CompiledCalls::Call::form() const { return state_->form; }

void CompiledCalls::Call::record() {
  State& state = *state_;
  if (state.is_inside) return;
  {
    const std::lock_guard lock(state.table->mutex);
    if (state.known->is_plain) {
      count_freeze_fallback();
      return;
    }
  }
  for (const Tensor* handle : state.handles) state.before.push_back(*handle);
  state.recorder = std::make_unique<CallRecorder>();
  asked = &state.asked;
}

void CompiledCalls::Call::State::give_up(const std::string& reason) {
  bool is_new = false;
  {
    const std::lock_guard lock(table->mutex);
    known->is_plain = true;
    known->is_frozen = false;
    is_new = table->told.insert(reason).second;
  }
  if (!is_new) return;
  note_frozen(fmt::format("{} is not frozen: {}.", table->name, reason));
  warn(WarningKind::other,
       fmt::format("compile: {} is not frozen, and recorded at each call: {}", table->name, reason));
}

/// What the call did. Null when that cannot be frozen, which was told, or when two arguments have one value, so that
/// another call shows which of them is read.
std::shared_ptr<const Recorded> CompiledCalls::Call::State::describe(const std::vector<Tensor>& results) {
  if (recorder->is_refused()) {
    give_up(with_line(recorder->reason(), recorder->line()));
    return nullptr;
  }
  std::vector<Tensor> wanted;
  auto described = std::make_shared<Recorded>();
  Recorded& made = *described;
  for (std::uint32_t i = 0; i < handles.size(); ++i) {
    if (handles[i]->state() == before[i].state()) continue;
    const bool fits = handles[i]->defined() && state_of(*handles[i]).dtype == state_of(before[i]).dtype &&
                      state_of(*handles[i]).shape == state_of(before[i]).shape;
    if (!fits) {
      give_up("it gives a tensor of its arguments another shape or dtype");
      return nullptr;
    }
    made.changes.push_back({i, {}});
    wanted.push_back(*handles[i]);
  }
  for (const Tensor& result : results) {
    if (!result.defined()) {
      give_up("it returns an empty handle");
      return nullptr;
    }
    wanted.push_back(result);
  }
  made.call = recorder->finish(wanted);
  for (std::size_t i = 0; i < made.changes.size(); ++i) made.changes[i].slot = made.call.wanted[i];
  made.results.assign(made.call.wanted.begin() + static_cast<std::ptrdiff_t>(made.changes.size()),
                      made.call.wanted.end());
  made.asked = std::move(asked);
  std::vector<std::uint32_t> used = made.call.reads;
  for (const Slot& slot : made.call.wanted) {
    if (!slot.is_computed) used.push_back(slot.index);
  }
  for (const std::uint32_t leaf : used) {
    const Tensor& x = made.call.leaves[leaf];
    const auto is_it = [&](const Tensor& handle) { return handle.state() == x.state(); };
    const auto first = std::ranges::find_if(before, is_it);
    if (std::count_if(before.begin(), before.end(), is_it) > 1) return nullptr;
    if (first != before.end()) {
      made.call.origins[leaf].handle = first - before.begin();
    } else if (made.call.origins[leaf].bytes) {
      made.call.origins[leaf].handle = LeafOrigin::kConstant;
    } else {
      give_up("it uses a tensor that is neither an argument nor made inside of a few numbers");
      return nullptr;
    }
  }
  for (std::size_t i = 0; i < made.call.leaves.size(); ++i) {
    if (made.call.origins[i].handle != LeafOrigin::kConstant) made.call.leaves[i] = Tensor();
  }
  for (const Draw& draw : made.call.draws) {
    if (draw.generator != nullptr && draw.generator != &default_generator()) {
      give_up("it draws from a generator of its own; only the default one is known to last");
      return nullptr;
    }
  }
  return described;
}

std::optional<std::string> CompiledCalls::Call::State::disagreement(const Recorded& last, const Recorded& now) const {
  if (const std::optional<CallDifference> found = difference(last.call, now.call))
    return with_line(found->text, found->line);
  const bool same_changes = std::ranges::equal(last.changes, now.changes,
                                               [](const Change& a, const Change& b) { return a.handle == b.handle; });
  if (!same_changes || last.results.size() != now.results.size() || last.asked.size() != now.asked.size())
    return "it changed or returned other tensors the second time";
  return std::nullopt;
}

void CompiledCalls::Call::finish(const std::vector<Tensor>& results, const std::function<std::any()>& form) {
  State& state = *state_;
  if (state.recorder == nullptr) return;
  state.recorder->stop();
  lento::asked = nullptr;
  count_freeze_record();
  std::shared_ptr<const Recorded> made = state.describe(results);
  state.before.clear();
  if (made == nullptr) return;
  Known& known = *state.known;
  std::optional<std::string> different;
  std::string frozen;
  int attempts = 0;
  {
    const std::lock_guard lock(state.table->mutex);
    if (known.last != nullptr) different = state.disagreement(*known.last, *made);
    if (known.is_frozen) {
      if (!state.is_verified) return;  // another thread was faster
    } else if (known.last == nullptr || different) {
      if (different) ++known.attempts;
      known.last = std::move(made);
    } else {
      known.result = form();
      known.last = std::move(made);
      known.plan = {};
      known.is_frozen = true;
      frozen =
          fmt::format("{} is frozen: {} ops, {} inputs, {} tensors changed.", state.table->name,
                      known.last->call.graph.nodes.size(), known.last->call.reads.size(), known.last->changes.size());
    }
    attempts = known.attempts;
  }
  if (!frozen.empty()) note_frozen(frozen);
  if (!different) return;
  if (state.is_verified) {
    const CallScope scope("compile", state.site);
    fail<ValueError>("{} would give something else than its frozen call: {}", state.table->name, *different);
  }
  if (different->find("number") != std::string::npos || attempts >= kMostAttempts) state.give_up(*different);
}

}  // namespace detail
}  // namespace lento

#include "executor/frozen_call.h"

#include "base/counters.h"
#include "base/fork.h"
#include "base/format.h"
#include "base/usable_devices.h"
#include "executor/fallbacks.h"
#include "executor/memory_limit.h"
#include "executor/plan_cache.h"
#include "executor/save_graphs.h"
#include "ir/op.h"
#include "tensor/promotion.h"
#include "tensor/state_pool.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

namespace lento {

namespace {

const CounterId kRecord = counter_id("freeze.record");
const CounterId kFrozen = counter_id("freeze.hit");
const CounterId kFallback = counter_id("freeze.fallback");
const CounterId kHit = counter_id("plan.hit");

/// The line of the first node that reads an input or a number.
Source line_that_reads(const Graph& graph, OperandRef what) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::span<const OperandRef> operands = graph.operands(graph.nodes[i]);
    if (std::ranges::find(operands, what) != operands.end()) return graph.sources[i];
  }
  return {};
}

bool same_leaf(const CallGraph& a, std::uint32_t x, const CallGraph& b, std::uint32_t y) {
  if (a.origins[x].handle != b.origins[y].handle) return false;
  return a.origins[x].handle != LeafOrigin::kConstant || a.origins[x].bytes == b.origins[y].bytes;
}

std::optional<CallDifference> structural_difference(const Graph& a, const Graph& b) {
  if (same_structure(a, b)) return std::nullopt;
  const std::size_t common = std::min(a.nodes.size(), b.nodes.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (std::memcmp(&a.nodes[i], &b.nodes[i], sizeof(Record)) == 0) continue;
    const std::string one(info(a.nodes[i].op).name);
    const std::string two(info(b.nodes[i].op).name);
    if (one != two)
      return CallDifference{fmt::format("it did {} the second time and {} before", two, one), b.sources[i]};
    return CallDifference{fmt::format("{} had other operands, attributes or shapes the second time", two),
                          b.sources[i]};
  }
  return CallDifference{fmt::format("it computed {} ops the second time and {} before", b.nodes.size(), a.nodes.size()),
                        b.sources.empty() ? Source{} : b.sources.back()};
}

struct Notes {
  ForkMutex mutex{ForkOrder::notes};
  std::vector<std::string> sentences;
};
Notes& notes() { return ProcessLifetime<Notes>::get(); }
constexpr std::size_t kMostSentences = 200;

}  // namespace

std::optional<CallDifference> difference(const CallGraph& a, const CallGraph& b) {
  if (a.device != b.device) return CallDifference{"it computed on another device the second time", {}};
  if (auto found = structural_difference(a.graph, b.graph)) return found;
  for (std::uint32_t i = 0; i < a.reads.size(); ++i) {
    if (!same_leaf(a, a.reads[i], b, b.reads[i]))
      return CallDifference{"it read another tensor the second time, or other data of the host",
                            line_that_reads(b.graph, OperandRef::leaf(i))};
  }
  for (std::uint32_t i = 0; i < a.numbers.size(); ++i) {
    const ScalarArgument& one = a.graph.scalars[i];
    const ScalarArgument& two = b.graph.scalars[i];
    const bool is_fixed = a.numbers[i].kind == NumberOrigin::Kind::fixed;
    if (a.numbers[i] == b.numbers[i] && (!is_fixed || one.value == two.value)) continue;
    return CallDifference{
        fmt::format("the number {} was {} the first time, and is no argument: give it as an argument, as a 0-d tensor, "
                    "or by lento.host_number",
                    two.value, one.value),
        line_that_reads(b.graph, OperandRef::scalar(i))};
  }
  const bool same_draws = std::ranges::equal(a.draws, b.draws, [](const Draw& one, const Draw& two) {
    return one.generator == two.generator && one.blocks == two.blocks;
  });
  if (!same_draws) return CallDifference{"it drew other random numbers the second time", {}};
  if (!(a.host == b.host)) return CallDifference{"it computed other numbers from those of lento.host_number", {}};
  const bool same_results = std::ranges::equal(a.wanted, b.wanted, [&](const Slot& one, const Slot& two) {
    return one.is_computed == two.is_computed &&
           (one.is_computed ? one.index == two.index : same_leaf(a, one.index, b, two.index));
  });
  if (!same_results) return CallDifference{"it gave or changed other tensors the second time", {}};
  return std::nullopt;
}

void note_frozen(const std::string& sentence) {
  Notes& all = notes();
  const std::lock_guard lock(all.mutex);
  if (all.sentences.size() < kMostSentences) all.sentences.push_back(sentence);
}

std::string describe_frozen() {
  std::vector<std::string> sentences;
  {
    Notes& all = notes();
    const std::lock_guard lock(all.mutex);
    sentences.swap(all.sentences);
  }
  std::string text;
  for (const std::string& sentence : sentences) text += sentence + "\n";
  return text;
}

void count_freeze_record() { count(kRecord); }
void count_freeze_fallback() { count(kFallback); }

// --- runs ---

FrozenRun::FrozenRun(const CallGraph& call, std::vector<Tensor> inputs, std::span<const std::uint8_t> replaced,
                     const KnownPlan& known)
    : call_(call), inputs_(std::move(inputs)), plan_(known) {
  if (call_.graph.nodes.empty()) return;
  require_usable(call_.device);
  std::vector<TensorState*> pending;
  for (const Tensor& input : inputs_) {
    if (state_of(input).pending()) pending.push_back(&state_of(input));
  }
  if (!pending.empty()) (void)evaluate(pending);
  wait_for_room(call_.device);
  // Read before the plan is looked for: one that is forgotten meanwhile is looked for again next time.
  const std::uint64_t epoch = plan_cache().epoch();
  if (plan_.plan == nullptr || plan_.epoch != epoch || plan_.plan->options != known_compile_options()) {
    plan_ = {plan_cache().find_or_compile(call_.graph, call_.device), epoch};
  } else {
    plan_.plan->used.store(true, std::memory_order_relaxed);
    count(kHit);
  }
  check_fallbacks(*plan_.plan, call_.graph.sources);
  is_saved_ = saves_graphs();
  if (!memory_is_limited(call_.device)) return;
  check_memory(*plan_.plan, call_.graph.sources, [&] {
    std::vector<std::uint8_t> given(inputs_.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
      const TensorState& state = state_of(inputs_[i]);
      // The handle that gets another value, and the one here.
      given[i] = replaced[i] != 0 && state.refs.load(std::memory_order_acquire) == 2 && state.value->held_once() &&
                 state.value->issued() && state.value->buffer && state.value->buffer->unique();
    }
    return given;
  });
}

bool FrozenRun::take_numbers(std::span<const Scalar> given) {
  scalars_ = call_.graph.scalars;
  std::vector<Scalar> host;
  if (!call_.host.evaluate(given, host)) return false;
  for (std::size_t i = 0; i < scalars_.size(); ++i) {
    const NumberOrigin origin = call_.numbers[i];
    // What does not fit raises where the op is called.
    if (origin.kind == NumberOrigin::Kind::host && !fits(host[origin.index], scalars_[i].dtype)) return false;
  }
  std::vector<Generator::State> states;
  states.reserve(call_.draws.size());
  for (const Draw& draw : call_.draws)
    states.push_back(draw.generator == nullptr ? draw.state : draw.generator->reserve(draw.blocks));
  for (std::size_t i = 0; i < scalars_.size(); ++i) {
    const NumberOrigin origin = call_.numbers[i];
    switch (origin.kind) {
      case NumberOrigin::Kind::fixed:
        break;
      case NumberOrigin::Kind::draw_seed:
        scalars_[i].value = states[origin.index].seed;
        break;
      case NumberOrigin::Kind::draw_counter:
        scalars_[i].value = states[origin.index].counter;
        break;
      case NumberOrigin::Kind::host:
        scalars_[i].value = host[origin.index];
        break;
    }
  }
  return true;
}

std::vector<Tensor> FrozenRun::bind() {
  count(kFrozen);
  std::vector<Tensor> outputs;
  if (call_.graph.nodes.empty()) {
    inputs_.clear();
    return outputs;
  }
  const Graph& graph = call_.graph;
  launch_.emplace();
  run_ = std::make_unique<Run>(plan_.plan);
  run_->scalars = std::move(scalars_);
  run_->sources = call_.sources;
  run_->inputs.reserve(inputs_.size());
  for (const Tensor& input : inputs_) run_->inputs.push_back(state_of(input).value);
  outputs.reserve(graph.outputs.size());
  for (const std::uint32_t output : graph.outputs) {
    const Record& record = graph.nodes[output];
    run_->outputs.push_back(
        Value::future(run_->completion, {record.dtype, call_.device, record.shape, graph.sources[output]}));
    outputs.push_back(make_tensor(run_->outputs.back()));
  }
  inputs_.clear();
  count_run(*run_);
  if (is_saved_) {
    SavedGraph saved{graph, plan_.plan};
    saved.graph.scalars = run_->scalars;
    save_graph(saved);
  }
  return outputs;
}

void FrozenRun::start(AfterLaunch next) noexcept {
  if (run_ == nullptr) return;
  (void)launch_->start(std::move(run_), next);
  launch_.reset();
}

}  // namespace lento

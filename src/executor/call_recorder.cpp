#include "executor/call_recorder.h"

#include "base/format.h"
#include "ir/op.h"
#include "ir/op_random.gen.h"
#include "tensor/state_pool.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace lento {

namespace {

/// An id that comes after all that the thread has given so far.
std::uint64_t fresh_id() {
  const Tensor made = Tensor::adopt(make_state(DType::float32, intern_shape({}), 0));
  return state_of(made).id;
}

thread_local CallRecorder* current_recorder = nullptr;

/// As many bytes of the host as a plan may hold as a constant (clause T4).
constexpr std::size_t kConstantBytes = 64;

OperandRef leaf_ref(Tape& tape, const TensorState& state) {
  // One value of its own for each leaf: leaves are told apart by their tensors, which may have no value yet.
  const ValueRef stand_in = Value::ready(BufferRef{}, {state.dtype, state.device, state.shape, {}});
  return tape.add_leaf(stand_in.get(), state.dtype, state.shape);
}

/// Whether the function that the user calls gives its numbers to this op as they are, whatever their values. Others may
/// look at a number, or compute another one from it, as dropout does; pow has ways of its own for some exponents.
bool is_operand_as_it_is(std::string_view function, Op op) {
  static constexpr std::array<std::string_view, 6> kOthers = {"where", "full",    "full_like",
                                                              "clip",  "setitem", "assign"};
  return (info(op).elementwise() && info(op).name == function && function != "pow") ||
         std::ranges::find(kOthers, function) != kOthers.end();
}

}  // namespace

CallRecorder::CallRecorder() : first_id_(fresh_id()) {
  drawing_.emplace();
  outer_host_ = current_host_numbers();
  set_current_host_numbers(&host_);
  current_recorder = this;
  watch(default_generator());
}

CallRecorder::~CallRecorder() { stop(); }

void CallRecorder::stop() {
  if (std::exchange(is_stopped_, true)) return;
  set_current_host_numbers(outer_host_);
  current_recorder = nullptr;
  draws_ = drawing_->take();
  drawing_.reset();
  Watcher::stop();
  last_id_ = fresh_id();
  check_generators();
  if (host_.misses_some()) {
    refuse("a number from lento.host_number was changed on the host before an op used it: do that inside its function",
           {});
  }
}

void CallRecorder::watch(Generator& generator) { generators_.emplace_back(&generator, generator.state()); }

void CallRecorder::check_generators() {
  for (const auto& [generator, first] : generators_) {
    Generator::State expected = first;
    bool is_as_expected = true;
    for (const Draw& draw : draws_) {
      if (draw.generator != generator) continue;
      is_as_expected = is_as_expected && draw.state == expected;
      expected.counter += draw.blocks;
    }
    if (!is_as_expected || generator->state() != expected)
      refuse("a generator is given another seed or state inside, or draws in another thread meanwhile", {});
  }
}

void CallRecorder::made_of_host_data(const Tensor& x, const void* data, std::size_t bytes) {
  if (bytes > kConstantBytes || is_stopped_) return;
  std::string& held = host_data_[state_of(x).id];
  held.assign(static_cast<const char*>(data), bytes);
}

CallRecorder* current_call_recorder() { return current_recorder; }

void refuse_recorded_call(std::string_view reason) {
  if (current_recorder != nullptr) current_recorder->refuse(std::string(reason), call_context().source);
}

void CallRecorder::refuse(std::string reason, const Source& line) {
  if (is_refused()) return;
  reason_ = std::move(reason);
  line_ = line;
}

void CallRecorder::reading(const TensorState& /*state*/) {
  refuse("a tensor is read or moved to another device inside, which needs its value during the call",
         call_context().source);
}

OperandRef CallRecorder::leaf(const Tensor& x) {
  const OperandRef ref = leaf_ref(*tape_, state_of(x));
  known_.emplace(state_of(x).id, ref);
  leaves_.push_back(x);
  return ref;
}

NumberOrigin CallRecorder::origin(const Scalar& number, Op op, const Source& source) {
  if (const std::optional<HostNumbers::Expected> expected = host_.take(number)) {
    if (expected->by_caller) {
      given_.emplace(number, source);
      if (current_watcher != this) {
        refuse(
            "a number from lento.host_number is used inside of a derivative, a vmap or a checkpoint, which uses it "
            "again: give it as a 0-d tensor",
            source);
      } else if (!is_operand_as_it_is(call_context().op, op)) {
        refuse(
            fmt::format("a number from lento.host_number is given to {}, which may compute with it first: give it as "
                        "an argument, or use it as the operand of an operator",
                        call_context().op),
            source);
      }
    }
    return {NumberOrigin::Kind::host, expected->node};
  }
  // The one that came first was taken for the host's.
  if (given_ && *given_ == std::pair(number, source)) {
    refuse("a call has a number from lento.host_number and another one that is equal to it; nobody can tell them apart",
           source);
  }
  return {};
}

OperandRef CallRecorder::operand(const RecordOperand& given, Op op, const Source& source) {
  if (!given.is_tensor()) {
    numbers_.push_back(origin(given.value(), op, source));
    return tape_->add_scalar(given.value(), given.dtype());
  }
  TensorState& state = given.state();
  if (const auto known = known_.find(state.id); known != known_.end()) return known->second;
  state.refs.fetch_add(1, std::memory_order_relaxed);
  return leaf(Tensor::adopt(&state));
}

void CallRecorder::recorded(const RecordedOp& op) {
  if (is_refused()) return;
  const std::uint8_t device = state_of(op.results[0]).device;
  if (!tape_) tape_.emplace(device);
  if (device != tape_->device) return refuse("it computes on two devices", op.source);
  if (!state_of(op.results[0]).pending() && state_of(op.results[0]).value->settled() &&
      state_of(op.results[0]).value->failure) {
    return refuse("an operand has failed", op.source);
  }
  std::vector<OperandRef> operands;
  operands.reserve(op.operands.size());
  for (const RecordOperand& given : op.operands) operands.push_back(operand(given, op.op, op.source));
  Record& head = tape_->next();
  const TensorState& first = state_of(op.results[0]);
  head = {.op = op.op, .dtype = first.dtype, .shape = first.shape, .attrs = op.attrs};
  tape_->set_operands(head, operands);
  const OperandRef head_ref = OperandRef::record(tape_->commit(op.source, nullptr));
  known_.emplace(first.id, head_ref);
  for (std::size_t i = 1; i < op.results.size(); ++i) {
    const TensorState& state = state_of(op.results[i]);
    Record& further = tape_->next();
    further = {.op = op::result, .dtype = state.dtype, .operand_count = 1, .shape = state.shape};
    further.operands[0] = head_ref;
    further.result_index = static_cast<std::uint32_t>(i);
    known_.emplace(state.id, OperandRef::record(tape_->commit(op.source, nullptr)));
  }
}

/// The numbers of random ops are those that generators gave. What a checkpoint draws again is what was drawn before.
void CallRecorder::find_draws() {
  if (!tape_) return;
  std::size_t next = 0;
  for (const Record& record : tape_->records()) {
    if (record.op != op::random_bits) continue;
    const std::span<const OperandRef> operands = tape_->operands(record);
    if (operands.size() < 2 || operands[0].kind() != OperandRef::Kind::scalar ||
        operands[1].kind() != OperandRef::Kind::scalar) {
      continue;
    }
    const Generator::State state{tape_->scalar(operands[0].index()).value.to<std::uint64_t>(),
                                 tape_->scalar(operands[1].index()).value.to<std::uint64_t>()};
    const auto is_it = [&](const Draw& draw) { return draw.generator != nullptr && draw.state == state; };
    auto found = std::find_if(draws_.begin() + static_cast<std::ptrdiff_t>(next), draws_.end(), is_it);
    if (found == draws_.end()) found = std::ranges::find_if(draws_, is_it);
    if (found == draws_.end()) continue;
    const auto index = static_cast<std::uint32_t>(found - draws_.begin());
    next = std::max<std::size_t>(next, index + 1);
    numbers_[operands[0].index()] = {NumberOrigin::Kind::draw_seed, index};
    numbers_[operands[1].index()] = {NumberOrigin::Kind::draw_counter, index};
  }
}

bool CallRecorder::was_made_inside(const Tensor& x) const { return was_made_inside(state_of(x).id); }

bool CallRecorder::was_made_inside(std::uint64_t id) const {
  // Ids come in blocks, each of which one thread gives away in order.
  const std::uint64_t block = id / StatePool::kIdBlock;
  const bool follows_first = block == first_id_ / StatePool::kIdBlock && id > first_id_;
  const bool precedes_last = block == last_id_ / StatePool::kIdBlock && id < last_id_;
  if (first_id_ / StatePool::kIdBlock == last_id_ / StatePool::kIdBlock) return follows_first && precedes_last;
  return follows_first || precedes_last;
}

CallGraph CallRecorder::finish(std::span<const Tensor> wanted) {
  find_draws();
  if (!tape_) tape_.emplace(wanted.empty() ? std::uint8_t{0} : state_of(wanted[0]).device);
  CallGraph call;
  call.device = tape_->device;
  std::vector<std::uint8_t> need(tape_->size());
  std::vector<OperandRef> refs;
  for (const Tensor& x : wanted) {
    const auto known = known_.find(state_of(x).id);
    refs.push_back(known != known_.end() ? known->second : leaf(x));
    if (refs.back().kind() == OperandRef::Kind::record) need[refs.back().index()] = 1;
  }
  std::vector<std::uint32_t> outputs;
  for (std::uint32_t i = 0; i < need.size(); ++i) {
    if (need[i] != 0) outputs.push_back(i);
  }
  tape_->mark_ancestors(need);
  Tape::Extract extract = tape_->extract(need, outputs);
  for (const OperandRef ref : refs) {
    if (ref.kind() == OperandRef::Kind::record) {
      const auto place = std::ranges::lower_bound(outputs, ref.index());
      call.wanted.push_back({true, static_cast<std::uint32_t>(place - outputs.begin())});
    } else {
      call.wanted.push_back({false, ref.index()});
    }
  }
  for (const std::uint32_t scalar : extract.scalar_of) call.numbers.push_back(numbers_[scalar]);
  call.graph = std::move(extract.graph);
  call.sources = std::make_shared<const std::vector<Source>>(call.graph.sources);
  call.reads = std::move(extract.leaf_of);
  call.leaves = std::move(leaves_);
  call.origins.resize(call.leaves.size());
  for (std::size_t i = 0; i < call.leaves.size(); ++i) {
    const auto known = host_data_.find(state_of(call.leaves[i]).id);
    if (known != host_data_.end()) call.origins[i].bytes = known->second;
  }
  call.draws = std::move(draws_);
  call.host = std::move(host_);
  return call;
}

}  // namespace lento

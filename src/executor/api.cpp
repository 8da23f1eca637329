// The public functions that evaluate, read and show tensors (include/lento/eval.h and the reading half of tensor.h).
#include <lento/eval.h>
#include <lento/print.h>
#include <lento/tensor.h>

#include "backend/backend.h"
#include "base/counters.h"
#include "base/fail.h"
#include "executor/closures.h"
#include "executor/evaluate.h"
#include "executor/plan_cache.h"
#include "executor/run.h"
#include "ir/graph.h"
#include "tensor/record.h"
#include "tensor/tapes.h"

#include <optional>
#include <ostream>
#include <set>

namespace lento {

namespace {

const CounterId kUploads = counter_id("transfer.h2d");
const CounterId kSteps = counter_id("step");

/// Checked before anything is allocated: a shape whose bytes do not fit into 63 bits is an error, not an overflow.
std::size_t checked_bytes(DType dtype, const Shape& shape) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(dtype));
  for (const std::int64_t extent : shape) {
    if (extent < 0) fail<ShapeError>("the shape {} has a negative extent", shape);
    if (__builtin_mul_overflow(bytes, extent, &bytes)) fail<MemoryError>("a tensor of shape {} is too large", shape);
  }
  return static_cast<std::size_t>(bytes);
}

void evaluate_tensors(const std::vector<Tensor>& tensors) {
  std::vector<TensorState*> states;
  for (const Tensor& tensor : tensors) states.push_back(&state_of(tensor));
  evaluate(states);
}

/// The pending graph of these tensors, cut out of the tape of the first pending one. Nothing when all have values.
std::optional<Tape::Extract> pending_part(const std::vector<Tensor>& tensors) {
  Tape* tape = nullptr;
  for (const Tensor& tensor : tensors) {
    if (tape == nullptr) tape = state_of(tensor).tape.load(std::memory_order_acquire);
  }
  if (tape == nullptr) return std::nullopt;
  const TapeGuard guard(*tape);
  std::vector<std::uint8_t> need(tape->size());
  std::set<std::uint32_t> outputs;
  for (const Tensor& tensor : tensors) {
    const TensorState& state = state_of(tensor);
    if (state.tape.load(std::memory_order_relaxed) != tape) continue;
    need[state.index] = 1;
    outputs.insert(state.index);
  }
  tape->mark_ancestors(need);
  return tape->extract(need, std::vector<std::uint32_t>(outputs.begin(), outputs.end()));
}

}  // namespace

void eval(const std::vector<Tensor>& tensors, std::source_location site) {
  const CallScope scope("eval", site);
  evaluate_tensors(tensors);
}

void step(Device device, bool wait_for_it, std::source_location site) {
  const CallScope scope("step", site);
  wait_for_room(device.id());
  std::vector<PendingClosure> closures = take_closures(device.id());
  try {
    evaluate_all(device.id());
    // Arguments that another thread recorded are not in this thread's tape.
    for (const PendingClosure& closure : closures) evaluate_tensors(closure.args);
  } catch (...) {
    return_closures(device.id(), std::move(closures));
    throw;
  }
  count(kSteps);
  run_closures(device.id(), std::move(closures));
  if (wait_for_it) wait_for_runs(device.id());
}

void wait(const std::vector<Device>& which) {
  for (const Device device : which.empty() ? devices() : which) wait_for_runs(device.id());
}

std::uint64_t graph_key(const std::vector<Tensor>& tensors) {
  const std::optional<Tape::Extract> part = pending_part(tensors);
  return part ? structure_hash(part->graph, tensors[0].device().id()) : 0;
}

namespace cache {
CacheInfo info() {
  const PlanCache::Info now = plan_cache().info();
  return {now.entries, now.bytes, now.limit};
}
void clear() { plan_cache().clear(); }
bool remove(std::uint64_t key) { return plan_cache().remove(key); }
void set_limit(std::size_t bytes) { plan_cache().set_limit(bytes); }
}  // namespace cache

Tensor from_host(const void* data, DType dtype, const Shape& shape, Device device) {
  const std::size_t bytes = checked_bytes(dtype, shape);
  Backend& backend = backend_of(device.id());
  BufferRef buffer = backend.allocate(bytes, device.id());
  backend.copy_from_host(*buffer, data, bytes);
  count(kUploads);
  return make_ready(std::move(buffer), dtype, intern_shape(shape));
}

// --- reading ---

const void* Tensor::read(DType expected, const std::source_location& site) const {
  const CallScope scope("data", site);
  if (dtype() != expected) fail<DTypeError>("the elements are {}, not {}", dtype(), expected);
  return read_value(state_of(*this));
}

const void* Tensor::data_pointer(std::source_location site) const {
  const CallScope scope("data", site);
  return read_value(state_of(*this));
}

Scalar Tensor::item_scalar(std::source_location site) const {
  const CallScope scope("item", site);
  if (size() != 1) fail<ValueError>("only a tensor of one element is a number; this one has shape {}", shape());
  return Scalar::read(dtype(), read_value(state_of(*this)));
}

std::string Tensor::to_string() const {
  return format_array(read_value(state_of(*this)), dtype(), shape(), PrintOptions{});
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << x.to_string(); }

// --- looking at the trace ---

std::string dump(const std::vector<Tensor>& tensors, DumpFormat format) {
  const std::optional<Tape::Extract> part = pending_part(tensors);
  return to_string(part ? part->graph : Graph{}, static_cast<GraphFormat>(format));
}

std::vector<LiveTensor> live_tensors() {
  struct Pending {
    LiveTensor tensor;
    Source source;
  };
  std::vector<Pending> found;
  for (Tape* tape : current_tapes) {
    if (tape == nullptr) continue;
    const TapeGuard guard(*tape);
    for (std::uint32_t i = 0; i < tape->size(); ++i) {
      const TensorState* state = tape->handle(i);
      if (state == nullptr) continue;
      found.push_back({{state->id, state->dtype, shape_of(state->shape), "pending", ""}, tape->source(i)});
    }
  }
  // Lines are turned into text without the lock: a front end's resolver may need locks of its own.
  std::vector<LiveTensor> list;
  for (Pending& pending : found) {
    pending.tensor.source = to_string(pending.source);
    list.push_back(std::move(pending.tensor));
  }
  return list;
}

Scope::Scope(std::string_view name) : outer_(call_context().scope) {
  call_context().scope = intern_scope(outer_, name);
}
Scope::~Scope() { call_context().scope = outer_; }

// --- options, counters, memory ---

Options options() {
  return {.max_pending_nodes = max_pending_nodes(), .max_inflight_steps = max_inflight_steps()};
}

void set_options(const Options& options) {
  if (options.max_pending_nodes < 2) fail<ValueError>("max_pending_nodes is {}; it must be at least 2", options.max_pending_nodes);
  if (options.max_inflight_steps < 1) fail<ValueError>("max_inflight_steps is {}; it must be at least 1", options.max_inflight_steps);
  set_max_pending_nodes(options.max_pending_nodes);
  set_max_inflight_steps(options.max_inflight_steps);
}

namespace metrics {
std::uint64_t counter(std::string_view name) { return counter_value(name); }
std::map<std::string, std::uint64_t> counters() { return counter_values(); }
void reset() { reset_counters(); }
}  // namespace metrics

MemoryUse memory() { return {live_host_bytes(), peak_host_bytes()}; }
void reset_peak_memory() { reset_peak_host_bytes(); }

}  // namespace lento

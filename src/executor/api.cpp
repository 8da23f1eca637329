// The public functions that evaluate, read and show tensors (include/lento/eval.h and the reading half of tensor.h).
#include <lento/eval.h>
#include <lento/print.h>
#include <lento/tensor.h>

#include "backend/backend.h"
#include "base/counters.h"
#include "base/fail.h"
#include "executor/evaluate.h"
#include "ir/graph.h"
#include "tensor/record.h"
#include "tensor/tapes.h"

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

}  // namespace

void eval(const std::vector<Tensor>& tensors, std::source_location site) {
  const CallScope scope("eval", site);
  std::vector<TensorState*> states;
  for (const Tensor& tensor : tensors) states.push_back(&state_of(tensor));
  evaluate(states);
  for (const TensorState* state : states) {
    if (state->failure) state->failure->raise();
  }
}

void step(Device device) {
  evaluate_all(device.id());
  count(kSteps);
}

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
  // A graph has one tape: the first pending tensor's. Tensors pending elsewhere are evaluated, as operands would be.
  Tape* tape = nullptr;
  Graph graph;
  for (const Tensor& tensor : tensors) {
    TensorState& state = state_of(tensor);
    Tape* home = state.tape.load(std::memory_order_acquire);
    if (home != nullptr && tape == nullptr) tape = home;
  }
  if (tape != nullptr) {
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
    graph = tape->extract(need, std::vector<std::uint32_t>(outputs.begin(), outputs.end())).graph;
  }
  return to_string(graph, static_cast<GraphFormat>(format));
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

Options options() { return {.max_pending_nodes = max_pending_nodes()}; }

void set_options(const Options& options) {
  if (options.max_pending_nodes < 2)
    fail<ValueError>("max_pending_nodes is {}; it must be at least 2", options.max_pending_nodes);
  set_max_pending_nodes(options.max_pending_nodes);
}

namespace metrics {
std::uint64_t counter(std::string_view name) { return counter_value(name); }
std::map<std::string, std::uint64_t> counters() { return counter_values(); }
void reset() { reset_counters(); }
}  // namespace metrics

MemoryUse memory() { return {live_host_bytes(), peak_host_bytes()}; }
void reset_peak_memory() { reset_peak_host_bytes(); }

}  // namespace lento

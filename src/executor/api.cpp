// The public functions that evaluate and read tensors (include/lento/eval.h and the reading half of tensor.h).
#include <lento/eval.h>
#include <lento/options_scope.h>
#include <lento/print.h>
#include <lento/tensor.h>

#include "backend/backend.h"
#include "backend/disk_cache.h"
#include "base/counters.h"
#include "base/fail.h"
#include "base/timings.h"
#include "base/usable_devices.h"
#include "executor/closures.h"
#include "executor/compile_settings.h"
#include "executor/evaluate.h"
#include "executor/fallbacks.h"
#include "executor/syncs.h"
#include "executor/transfer.h"
#include "executor/work.h"
#include "tensor/record.h"
#include "tensor/tapes.h"
#include "tensor/watch.h"

#include <algorithm>
#include <cmath>
#include <ostream>

namespace lento {

namespace {

const CounterId kUploads = counter_id("transfer.h2d");
const CounterId kSteps = counter_id("step");
const TimingId kStepTime = timing_id("step");

/// Whether an integer dtype can hold a number, without what is behind the point.
bool holds(DType integer, const Scalar& number) {
  if (number.is_bool()) return true;
  if (number.is_integer()) {  // one that does not fit wraps around
    std::uint64_t element = 0;
    number.write(integer, &element);
    return Scalar::read(integer, &element) == number;
  }
  const bool is_signed = is_signed_integer(integer);
  const double end = std::ldexp(1.0, static_cast<int>(size_of(integer)) * 8 - (is_signed ? 1 : 0));
  const double whole = std::trunc(number.to<double>());
  return whole >= (is_signed ? -end : 0.0) && whole < end;
}

/// Checked before anything is allocated: a shape whose bytes do not fit into 63 bits is an error, not an overflow.
std::size_t checked_bytes(DType dtype, const Shape& shape) {
  require_dtype(dtype);
  std::int64_t bytes = static_cast<std::int64_t>(size_of(dtype));
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) fail<ShapeError>("the shape {} has a negative extent", shape);
    empty = empty || extent == 0;
    // As where results are inferred: an empty tensor has strides too, so that its other lengths count.
    if (extent > 1 && __builtin_mul_overflow(bytes, extent, &bytes))
      fail<MemoryError>("a tensor of shape {} is too large", shape);
  }
  return empty ? 0 : static_cast<std::size_t>(bytes);
}

void require_memory(const void* data, std::size_t bytes, const Shape& shape) {
  if (data == nullptr && bytes > 0) fail<ValueError>("the memory of a tensor of shape {} is a null pointer", shape);
}

std::vector<Launched> evaluate_tensors(const std::vector<Tensor>& tensors) {
  std::vector<TensorState*> states;
  for (const Tensor& tensor : tensors) states.push_back(&state_of(tensor));
  return evaluate(states);
}

/// Waits for all before it throws the first failure.
void wait_for_all(const std::vector<Launched>& runs) {
  FailureRef first;
  for (const Launched& run : runs) {
    FailureRef failure = wait_for_work(run.device, run.completion);
    if (!first) first = std::move(failure);
  }
  if (first) first->raise();
}

/// Other libraries take every byte but 0 for true; here there are only 0 and 1.
bool are_plain_bools(const void* data, std::size_t count) {
  const auto* first = static_cast<const std::uint8_t*>(data);
  return std::all_of(first, first + count, [](std::uint8_t byte) { return byte <= 1; });
}

}  // namespace

void eval(const std::vector<Tensor>& tensors, std::source_location site) {
  const CallScope scope("eval", site);
  evaluate_tensors(tensors);
}

void step(Device device, StepOptions options, std::source_location site) {
  const CallScope scope("step", site);
  const TimedSection timed(kStepTime);
  require_usable(device.id());
  wait_for_room(device.id());
  std::vector<PendingClosure> closures = take_closures(device.id());
  const AfterLaunch next = options.wait ? AfterLaunch::wait : AfterLaunch::go_on;
  std::vector<Launched> launched;
  try {
    // What makes handing over fail is better known before anything is launched.
    if (std::ranges::any_of(closures, &PendingClosure::run_async)) (void)max_async_closures();
    for (Tape* tape : options.all_threads ? all_tapes(device.id()) : std::vector{&tape_for(device.id())}) {
      if (CompletionRef run = evaluate_all(*tape, next)) launched.push_back({device.id(), std::move(run)});
    }
    // Arguments that another thread recorded are not in this thread's tape.
    for (const PendingClosure& closure : closures) {
      for (Launched& run : evaluate_tensors(closure.args)) launched.push_back(std::move(run));
    }
  } catch (...) {
    return_closures(device.id(), std::move(closures));
    throw;
  }
  count(kSteps);
  run_closures(device.id(), std::move(closures));
  if (options.wait) wait_for_all(launched);
}

void wait(const std::vector<Device>& which, std::source_location site) {
  const CallScope scope("wait", site);
  const std::vector<Device> all = which.empty() ? devices() : which;
  for (const Device device : all) let_work_end(device.id());
  for (const Device device : all) {
    if (const FailureRef failure = take_failure(device.id())) failure->raise();
  }
}

Tensor from_host(const void* data, DType dtype, const Shape& shape, Device device, std::source_location site) {
  const CallScope scope("from_host", site);
  const std::size_t bytes = checked_bytes(dtype, shape);
  require_memory(data, bytes, shape);
  if (dtype == DType::bool_ && !are_plain_bools(data, bytes)) {
    std::vector<std::uint8_t> plain(bytes);
    const auto* first = static_cast<const std::uint8_t*>(data);
    std::transform(first, first + bytes, plain.begin(), [](std::uint8_t byte) -> std::uint8_t { return byte != 0; });
    return from_host(plain.data(), dtype, shape, device);
  }
  return make_tensor(upload(data, bytes, kind_here(dtype, device.id(), intern_shape(shape))));
}

Tensor from_filler(const std::function<void(void* data, std::size_t bytes)>& fill, DType dtype, const Shape& shape,
                   Device device, std::source_location site) {
  const CallScope scope("from_filler", site);
  if (!fill) fail<ValueError>("the function is empty");
  const std::size_t bytes = checked_bytes(dtype, shape);
  const auto checked_fill = [&](void* data) {
    fill(data, bytes);
    if (dtype == DType::bool_ && !are_plain_bools(data, bytes)) fail<ValueError>("bools are bytes of 0 and 1");
  };
  if (!in_host_memory(device)) {
    std::vector<std::byte> content(std::max<std::size_t>(bytes, 1));  // for nothing too the address is not null
    checked_fill(content.data());
    return from_host(content.data(), dtype, shape, device);
  }
  BufferRef buffer = backend_of(device.id()).allocate(bytes, device.id());
  checked_fill(buffer->data());
  count(kUploads);
  return make_ready(std::move(buffer), dtype, intern_shape(shape));
}

Tensor from_memory(const void* data, DType dtype, const Shape& shape, std::shared_ptr<const void> owner, Device device,
                   std::source_location site) {
  const CallScope scope("from_memory", site);
  const std::size_t bytes = checked_bytes(dtype, shape);
  require_memory(data, bytes, shape);
  if (!in_host_memory(device))
    fail<DeviceError>("{} cannot use host memory; copy it with from_host", device.to_string());
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(real_type(dtype)) != 0) {
    fail<ValueError>("memory that is not aligned to its elements cannot be shared; copy it with from_host");
  }
  if (dtype == DType::bool_ && !are_plain_bools(data, bytes)) {
    fail<ValueError>("bools with bytes other than 0 and 1 cannot be shared; copy them with from_host");
  }
  auto kept = std::make_unique<std::shared_ptr<const void>>(std::move(owner));
  const auto let_go = [](void*, std::size_t, void* held) { delete static_cast<std::shared_ptr<const void>*>(held); };
  BufferRef buffer = Buffer::wrap_shared(data, bytes, device.id(), let_go, kept.get());
  [[maybe_unused]] const auto* given_away = kept.release();
  return make_ready(std::move(buffer), dtype, intern_shape(shape));
}

const void* export_data(const Tensor& x, std::source_location site) {
  const CallScope scope("export_data", site);
  TensorState& state = state_of(x);
  const void* data = read_value(state);
  state.value->buffer->mark_exported();
  return data;
}

bool in_host_memory(Device device) { return backend_of(device.id()).in_host_memory(); }

namespace {

/// A move is no op on a tape; for derivatives it is a function whose cotangent moves back.
void tell_of_move(const Tensor& from, const Tensor& to) {
  const auto back = [](const std::vector<Tensor>& inputs, const std::vector<Tensor>&,
                       const std::vector<Tensor>& cotangents) {
    return std::vector{to_device(cotangents[0], inputs[0].device())};
  };
  const CustomCall call{{from}, {to}, std::make_shared<const CustomCall::Backward>(back), call_context().source};
  tell_watchers([&](Watcher& watcher) { watcher.called(call); });
}

}  // namespace

Tensor to_device(const Tensor& x, Device device, std::source_location site) {
  const CallScope scope("to_device", site);
  if (x.device() == device) return x;
  require_usable(x.device().id());
  require_usable(device.id());
  TensorState& state = state_of(x);
  tell_watchers([&](Watcher& watcher) { watcher.reading(state); });
  TensorState* const states[] = {&state};
  (void)evaluate(states);
  const std::size_t bytes = byte_size(Meta{x.dtype(), x.shape()});
  const ValueKind kind = kind_here(state.dtype, device.id(), state.shape);
  Tensor moved = make_tensor(copy_to_device(state.value, bytes, kind));
  if (current_watcher != nullptr) tell_of_move(x, moved);
  return moved;
}

// --- reading ---

const void* Tensor::read(DType expected, std::string_view caller, const std::source_location& site) const {
  const CallScope scope(caller, site);
  if (dtype() != expected) fail<DTypeError>("the elements are {}, not {}", dtype(), expected);
  return read_value(state_of(*this));
}

const void* Tensor::data_pointer(std::source_location site) const {
  const CallScope scope("data_pointer", site);
  return read_value(state_of(*this));
}

Scalar Tensor::item_scalar(std::source_location site) const {
  const CallScope scope("item", site);
  if (size() != 1) fail<ValueError>("only a tensor of one element is a number; this one has shape {}", shape());
  return Scalar::read(dtype(), read_value(state_of(*this)));
}

Scalar Tensor::item_real(const std::source_location& site) const {
  const CallScope scope("item", site);
  if (is_complex(dtype()))
    fail<DTypeError>("a {} number has two parts: read it as std::complex, or use real(x)", dtype());
  return item_scalar(site);
}

Scalar Tensor::item_that_fits(DType integer, const std::source_location& site) const {
  const CallScope scope("item", site);
  const Scalar number = item_real(site);
  if (!holds(integer, number)) fail<OverflowError>("{} does not fit into {}", number, integer);
  return number;
}

std::string Tensor::to_string(std::source_location site) const {
  const CallScope scope("to_string", site);
  // Where syncs are errors, looking at a tensor in a log or a debugger must not be one.
  if (sync_mode() == SyncMode::error && is_pending()) return "<pending>";
  return array_str(read_value(state_of(*this)), dtype(), shape(), get_printoptions());
}

std::ostream& operator<<(std::ostream& out, const Printed& x) { return out << x.tensor().to_string(x.site()); }

// --- options ---

Options options() {
  return {.max_pending_nodes = max_pending_nodes(),
          .max_inflight_steps = max_inflight_steps(),
          .sync = sync_mode(),
          .sync_wait = warns_of_waits(),
          .fallback = fallback_mode(),
          .disk_cache = disk_cache().enabled(),
          .fusion = compile_options()->fusion,
          .tier = compile_options()->tier,
          .force_fallback = fallback_text(*compile_options())};
}

void set_options(const Options& options, std::source_location site) {
  const CallScope scope("set_options", site);
  if (options.max_pending_nodes < 2) {
    fail<ValueError>("max_pending_nodes is {}; it must be at least 2", options.max_pending_nodes);
  }
  if (options.max_inflight_steps < 1) {
    fail<ValueError>("max_inflight_steps is {}; it must be at least 1", options.max_inflight_steps);
  }
  // What may throw comes first: all is set or nothing.
  const CompileOptions* const chosen = find_compile_options(options);
  disk_cache().set_enabled(options.disk_cache.value_or(disk_cache().enabled_at_start()));
  set_max_pending_nodes(options.max_pending_nodes);
  set_max_inflight_steps(options.max_inflight_steps);
  set_sync_mode(options.sync, options.sync_wait);
  set_fallback_mode(options.fallback);
  set_compile_options(chosen);
}

OptionsScope::OptionsScope(const Options& changed, std::source_location site) : before_(options()) {
  set_options(changed, site);
}
OptionsScope::~OptionsScope() { set_options(before_); }

Scope::Scope(std::string_view name) : outer_(call_context().scope) {
  call_context().scope = intern_scope(outer_, name);
}
Scope::~Scope() { call_context().scope = outer_; }

}  // namespace lento

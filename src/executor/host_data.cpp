// Tensors of the host's data, and moves between devices (include/lento/eval.h).
#include <lento/eval.h>
#include <lento/tensor.h>

#include "backend/backend.h"
#include "base/counters.h"
#include "base/fail.h"
#include "base/usable_devices.h"
#include "executor/call_recorder.h"
#include "executor/evaluate.h"
#include "executor/transfer.h"
#include "tensor/record.h"
#include "tensor/watch.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lento {

namespace {

const CounterId kUploads = counter_id("transfer.h2d");

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

/// Other libraries take every byte but 0 for true; here there are only 0 and 1.
bool are_plain_bools(const void* data, std::size_t count) {
  const auto* first = static_cast<const std::uint8_t*>(data);
  return std::all_of(first, first + count, [](std::uint8_t byte) { return byte <= 1; });
}

}  // namespace

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
  Tensor made = make_tensor(upload(data, bytes, info_here(dtype, device.id(), intern_shape(shape))));
  if (CallRecorder* const recorder = current_call_recorder()) recorder->made_of_host_data(made, data, bytes);
  return made;
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
  const void* const content = buffer->data();
  Tensor made = make_ready(std::move(buffer), dtype, intern_shape(shape));
  if (CallRecorder* const recorder = current_call_recorder()) recorder->made_of_host_data(made, content, bytes);
  return made;
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
  BufferRef buffer = Buffer::wrap_shared(data, bytes, device.id(), let_go, kept.release());
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
  const ValueInfo info = info_here(state.dtype, device.id(), state.shape);
  Tensor moved = make_tensor(copy_to_device(state.value, bytes, info));
  if (current_watcher != nullptr) tell_of_move(x, moved);
  return moved;
}

}  // namespace lento

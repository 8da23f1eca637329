// The public functions that show memory and the tensors that are alive (include/lento/memory.h).
#include <lento/memory.h>

#include "base/devices.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/source.h"
#include "base/usable_devices.h"
#include "base/value.h"
#include "ir/shape_table.h"
#include "ir/tape.h"
#include "tensor/state.h"
#include "tensor/tapes.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace lento {

MemoryUse memory(Device device) {
  const MemoryAccount& account = memory_account(device.id());
  return {account.in_use(), account.cached.load(), account.peak.load(), account.limit.load()};
}
void reset_peak_memory(Device device) { memory_account(device.id()).reset_peak(); }
void set_memory_limit(std::int64_t bytes, Device device, std::source_location site) {
  const CallScope scope("set_memory_limit", site);
  if (bytes < 0) fail<ValueError>("{} bytes are less than none; 0 takes the limit away", bytes);
  memory_account(device.id()).limit.store(static_cast<std::size_t>(bytes));
}

std::vector<LiveTensor> live_tensors(std::optional<Device> wanted) {
  struct Found {
    DType dtype;
    ShapeId shape;
    const char* state;
    Source source;
    Device device;
  };
  std::map<std::uint64_t, Found> found;
  // Tapes before values: what leaves a tape in the meantime is found there.
  for (const Device device : wanted ? std::vector{*wanted} : devices()) {
    const char* const waits = is_usable(device.id()) ? "pending" : "failed";
    for (Tape* tape : all_tapes(device.id())) {
      const TapeGuard guard(*tape);
      for (std::uint32_t i = 0; i < tape->size(); ++i) {
        const TensorState* state = tape->handle(i);
        if (state != nullptr)
          found.insert_or_assign(state->id, Found{state->dtype, state->shape, waits, tape->source(i), device});
      }
    }
  }
  for (const ValueRef& value : every_value()) {
    const std::uint64_t id = value->tensor_id.load(std::memory_order_relaxed);
    const Device device = RegisteredDevice::of(value->info.device);
    if (id == 0 || (wanted && device != *wanted)) continue;
    const bool failed = value->settled() && (value->failure || !is_usable(device.id()));
    const char* state = !value->settled() ? "running" : failed ? "failed" : "ready";
    found.insert_or_assign(id, Found{value->info.dtype, value->info.shape, state, value->info.source, device});
  }
  // Lines are turned into text without any lock: a front end's resolver may need locks of its own.
  std::vector<LiveTensor> list;
  for (const auto& [id, tensor] : found) {
    list.push_back({id, tensor.dtype, shape_of(tensor.shape), tensor.state, to_string(tensor.source), tensor.device});
  }
  return list;
}

}  // namespace lento

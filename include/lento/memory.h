// Memory (clause E9): how much there is, who holds it, and a limit.
#pragma once

#include <lento/device.h>
#include <lento/dtype.h>
#include <lento/export.h>
#include <lento/tensor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

namespace lento {

struct MemoryUse {
  std::size_t live;    // bytes of tensors
  std::size_t cached;  // bytes kept for reuse
  std::size_t peak;    // most live bytes since reset_peak_memory
  std::size_t limit;   // 0: none
};
LENTO_API MemoryUse memory(Device device = {});
LENTO_API void reset_peak_memory(Device device = {});

/// With a limit, what would exceed it throws MemoryError before anything is changed; for a step the message names its
/// planned peak and its largest tensors. 0 takes the limit away; a negative number is a ValueError.
LENTO_API void set_memory_limit(std::int64_t bytes, Device device = {},
                                std::source_location site = std::source_location::current());

/// One line of live_tensors().
struct LiveTensor {
  std::uint64_t id;
  DType dtype;
  Shape shape;
  std::string state;   // "pending", "running", "ready" or "failed"
  std::string source;  // the line that made it, "" when unknown
  Device device;
};
/// Every tensor that a handle of any thread names, in order of id; of one device, or of all.
LENTO_API std::vector<LiveTensor> live_tensors(std::optional<Device> device = std::nullopt);

}  // namespace lento
